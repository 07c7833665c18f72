"""Arguments that estimators do not have; `tests/misuse/estimators.py` has the messages."""

import inspect
import pickle

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pymc_bsvm import estimators

KINDS = [
    getattr(estimators, name)
    for name in estimators.__all__
    if inspect.isclass(getattr(estimators, name))
]


@pytest.mark.parametrize("kind", KINDS)
def test_constructors_keep_their_signatures(kind):
    assert [*inspect.signature(kind).parameters] == [*inspect.signature(kind.__init__).parameters][
        1:
    ]
    assert set(inspect.signature(kind).parameters) == set(kind().get_params())
    assert clone(kind()).get_params() == kind().get_params()
    assert pickle.loads(pickle.dumps(kind())).get_params() == kind().get_params()


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_arguments_are_named(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__} takes no colour. Pass some of"):
        kind(colour="red")
    assert kind().set_params(kernel="linear").kernel == "linear"


def test_a_grid_over_what_is_learned():
    grid = GridSearchCV(estimators.BayesianSVR(), {"C": [1.0, 10.0]}, error_score="raise")
    with pytest.raises(ValueError, match="It is learned by the evidence"):
        grid.fit([[0.0], [1.0], [2.0]] * 5, [0.0, 1.0, 2.0] * 5)


def test_the_nearest_name():
    with pytest.raises(TypeError, match=r"takes no restart\. Did you mean restarts\?"):
        estimators.BayesianSVR(restart=3)
