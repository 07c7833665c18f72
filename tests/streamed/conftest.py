"""A real cluster of two processes."""

import pytest


@pytest.fixture(scope="session")
def _cluster():
    distributed = pytest.importorskip("distributed")
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(processes=True, **settings) as found:
        yield found


@pytest.fixture
def cluster(_cluster):
    """Return a client of two workers, or of one while another starts again."""
    import distributed

    with distributed.Client(_cluster) as client:
        client.wait_for_workers(1, timeout=30)
        yield client


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark what needs a cluster: its processes wait too long where other tests take the cores."""
    for item in items:
        if "cluster" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.slow)
