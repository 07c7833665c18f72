"""The mode that interprets clips matrices as NumPy does, not element by element in Python."""

import numpy as np
import pytensor
import pytensor.tensor as pt
import pytest
from pytensor.scalar import Clip

from pymc_bsvm.gp.interpreted import INTERPRETED
from pymc_bsvm.inference.objective import LogPosterior
from tests.gp import cases

VALUES = np.array([[-np.inf, -2.0, -0.5, -0.0], [0.5, 3.0, np.inf, np.nan]])


def clips(function):
    """Return the Clip nodes of matrices."""
    nodes = function.maker.fgraph.apply_nodes
    of_clips = [n for n in nodes if isinstance(getattr(n.op, "scalar_op", None), Clip)]
    return [n for n in of_clips if n.outputs[0].type.ndim == 2]


@pytest.mark.parametrize("ends", [(0.0, np.inf), (-1.0, 1.0), (-np.inf, 0.25)])
def test_constant_ends(ends):
    x = pt.dmatrix("x")
    function, other = (
        pytensor.function([x], pt.clip(x, *ends), mode=mode)
        for mode in (INTERPRETED, "FAST_COMPILE")
    )
    assert (len(clips(function)), len(clips(other))) == (0, 1)
    np.testing.assert_array_equal(function(VALUES), np.clip(VALUES, *ends))
    np.testing.assert_array_equal(function(VALUES), other(VALUES))


def test_ends_that_are_not_known_or_in_disorder_stay():
    """In disorder, NumPy and PyTensor have different answers."""
    x, low = pt.dmatrix("x"), pt.dscalar("low")
    for ends in ((low, 1.0), (2.0, 1.0)):
        function = pytensor.function(
            [x, low], pt.clip(x, *ends), mode=INTERPRETED, on_unused_input="ignore"
        )
        assert len(clips(function)) == 1


def test_an_evidence_clips_no_matrix_in_python():
    """At a thousand rows that was four fifths of an evaluation."""
    data = cases.plane(20)
    objective = LogPosterior(cases.regression(data.X, data.y).model, True)
    assert clips(objective.function._function) == []
