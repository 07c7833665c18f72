"""Construction, messages, equality, printing, pickling and the check of targets."""

import copy
import pickle

import numpy as np
import pytest

from pymc_bsvm import losses
from tests.losses.cases import BY_NAME, CASES, label, rows

every_row = pytest.mark.parametrize(("case", "p"), rows(), ids=label)
with_parameters = [(c, k) for c in CASES for k in c.parameters[0]]
NAN, INF = float("nan"), float("inf")


def _sentences(message):
    return message.strip().endswith(".") and message.strip().count(". ") >= 1


@pytest.mark.parametrize(("case", "key"), with_parameters, ids=label)
@pytest.mark.parametrize("bad", [0.0, -1.0, -2.5e-7, NAN, INF, -INF], ids=str)
def test_parameters_out_of_range(case, key, bad):
    p = {**case.parameters[0], key: bad}
    with pytest.raises(ValueError, match=key) as caught:
        case.loss(**p)
    message = str(caught.value)
    assert _sentences(message), message
    assert any(text in message for text in (repr(bad), f"{bad:g}")), message


@pytest.mark.parametrize("beta", [1.0000001, 2.0, 1e300])
def test_beta_is_at_most_one(beta):
    with pytest.raises(ValueError, match="beta") as caught:
        losses.SILF(C=1.0, epsilon=0.1, beta=beta)
    assert _sentences(str(caught.value))


@pytest.mark.parametrize(("case", "key"), with_parameters, ids=label)
@pytest.mark.parametrize("bad", ["1.0", None, 1j, [1.0], {}, True, np.True_], ids=repr)
def test_parameters_that_are_no_numbers(case, key, bad):
    p = {**case.parameters[0], key: bad}
    with pytest.raises(TypeError, match=key) as caught:
        case.loss(**p)
    assert _sentences(str(caught.value)), str(caught.value)


@pytest.mark.parametrize(("case", "key"), with_parameters, ids=label)
def test_numbers_of_other_types_are_taken(case, key):
    one = {**case.parameters[0], key: 1.0}
    for same in (1, np.float64(1.0), np.int64(1)):
        assert case.loss(**{**one, key: same}) == case.loss(**one)


@every_row
def test_equality_hash_and_copies(case, p):
    loss = case.loss(**p)
    again = case.loss(**p)
    assert loss == again
    assert hash(loss) == hash(again)
    for twin in (pickle.loads(pickle.dumps(loss)), copy.copy(loss), copy.deepcopy(loss)):
        assert twin == loss
        assert type(twin) is type(loss)
        x = case.points(**p)
        assert np.array_equal(twin.value(*case.arguments(x)), loss.value(*case.arguments(x)))
    assert loss != "something else"
    for key, value in p.items():
        assert getattr(loss, key) == value
        other = case.loss(**{**p, key: value / 2})
        assert other != loss


@every_row
def test_repr_builds_the_same_loss(case, p):
    loss = case.loss(**p)
    assert eval(repr(loss), dict(vars(losses))) == loss


def test_losses_of_different_classes_differ():
    built = [case.loss(**case.parameters[0]) for case in CASES]
    for i, a in enumerate(built):
        for b in built[:i]:
            assert a != b


@pytest.mark.parametrize("case", CASES, ids=label)
@pytest.mark.parametrize("bad", [NAN, INF, -INF], ids=str)
def test_targets_have_to_be_finite(case, bad):
    loss = case.loss(**case.parameters[0])
    with pytest.raises(ValueError, match=r"finite|NaN|nan|inf"):
        loss.check_targets(np.array([1.0, bad, -1.0]))


@pytest.mark.parametrize("name", [c.name for c in CASES if c.task == "classification"])
def test_labels_are_minus_and_plus_one(name):
    loss = BY_NAME[name].loss(**BY_NAME[name].parameters[0])
    loss.check_targets(np.array([1.0, -1.0, -1.0]))
    loss.check_targets(np.array([1, -1, -1]))
    with pytest.raises(ValueError, match="2"):
        loss.check_targets(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"2 ?\*"):  # the hint: 2 * y - 1
        loss.check_targets(np.array([1.0, 0.0, 1.0]))


@pytest.mark.parametrize("name", [c.name for c in CASES if c.task == "regression"])
def test_any_finite_number_is_a_regression_target(name):
    loss = BY_NAME[name].loss(**BY_NAME[name].parameters[0])
    loss.check_targets(np.array([0.0, 1.0, -3e8, 1e-9]))
