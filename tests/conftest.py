"""Shared configuration and fixtures of the tests."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from faults.interrupts import hear_ctrl_c

collect_ignore = [  # scripts; some need torch or MOA
    "kill_resume.py",
    "make_golden.py",
    "make_moa_golden.py",
]
hear_ctrl_c()
settings.register_profile("all", deadline=None)  # a busy machine must not cause failures
settings.register_profile("few", deadline=None, max_examples=20)


def pytest_configure(config):
    """Set the number of Hypothesis examples, unless a test sets its own number."""
    settings.load_profile("all" if config.getoption("--all") else "few")


@pytest.fixture
def thorough(request):
    """Whether a test tries all moments of an interruption, instead of a few."""
    return request.config.getoption("--all")


@pytest.fixture(scope="session")
def real_data():
    """Return the directory with the five real streams."""
    directory = os.environ.get("HEROS_DATA")
    if not directory or not Path(directory, "covtype.parquet").exists():
        pytest.skip("the real streams are not here: set HEROS_DATA to their directory")
    return Path(directory)


@pytest.fixture
def dask_cluster():
    """Start two dask workers in separate processes."""
    import distributed  # noqa: PLC0415 - slow, and few tests need it

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster
