"""Earlier places of modules still work, in any order of imports."""

import importlib
import pickle
import sys

import pytest

from pymc_bsvm import diagnosis, inference
from tests.test_package import run_python

EARLIER = {
    "datasets.robot_arm": "robot_arm",
    "datasets.sinc": "sinc",
    "datasets.two_gaussians": "two_gaussians_probability",
    "distributions.likelihood": "likelihood",
    "evidence.predictive": "RegressionPredictive",
    "inference.annealing": "annealed_evidence",
    "inference.difference": "Difference",
    "inference.hessian": "nearest_gaussian",
    "inference.path": "Path",
    "inference.propagation": "SiteGaussian",
    "inference.reweighting": "reweight",
    "inference.verdict": "Verdict",
    "inference.white_prior": "WhitePrior",
}


@pytest.mark.parametrize(("place", "name"), EARLIER.items())
def test_an_earlier_path_has_the_same_object(place, name):
    found = getattr(importlib.import_module(f"pymc_bsvm.{place}"), name)
    assert found.__module__ != f"pymc_bsvm.{place}"
    assert found is getattr(sys.modules[found.__module__], name)


@pytest.mark.parametrize("name", [n for n in diagnosis.__all__ if n != "Difference"])
def test_inference_still_has_the_names_of_diagnosis(name):
    assert getattr(inference, name) is getattr(diagnosis, name)


@pytest.mark.parametrize("place", [p for p, name in EARLIER.items() if p.endswith(f".{name}")])
def test_the_function_is_what_its_package_has(place):
    package, _, name = place.rpartition(".")
    run = run_python(
        f"import pymc_bsvm.{place}\n"
        f"from pymc_bsvm.{place} import {name} as by_path\n"
        f"from pymc_bsvm.{package} import {name}\n"
        f"from pymc_bsvm import {package}\n"
        f"print({name} is by_path is {package}.{name}, callable({name}))"
    )
    assert (run.stdout.strip(), run.stderr) == ("True True", "")


def test_the_function_stays_where_a_module_had_its_name():
    run = run_python(
        "from pymc_bsvm.inference.verdict import Verdict, verdict as by_path\n"
        "import pymc_bsvm.inference.annealing as annealing\n"
        "from pymc_bsvm.inference import verdict\n"
        "from pymc_bsvm.evidence.predictive import predictive\n"
        "from pymc_bsvm import evidence\n"
        "assert evidence.predictive is predictive\n"
        "print(verdict is by_path, annealing.__name__, Verdict.__module__)"
    )
    expected = "True pymc_bsvm.diagnosis.annealing pymc_bsvm.diagnosis.judgement"
    assert (run.stdout.strip(), run.stderr) == (expected, "")


def test_a_pickle_of_an_earlier_version_loads():
    by_path = b"cpymc_bsvm.inference.difference\nDifference\n."
    assert pickle.loads(by_path) is diagnosis.Difference


def test_estimators_and_inference_leave_diagnosis_alone():
    run = run_python(
        "import inspect, sys\n"
        "import pymc_bsvm.estimators, pymc_bsvm.inference\n"
        "inspect.getmodule(inspect.currentframe())\n"  # it looks into every module there is
        "print('pymc_bsvm.diagnosis' in sys.modules)"
    )
    assert (run.stdout.strip(), run.stderr) == ("False", "")


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'pymc_bsvm\.inference' has no attribute 'no_such'"):
        _ = inference.no_such
    with pytest.raises(AttributeError, match="no_such"):
        _ = importlib.import_module("pymc_bsvm.inference.path").no_such
