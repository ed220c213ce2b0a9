"""What pytest needs to know about this folder."""

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
settings.register_profile("all", deadline=None)  # a busy machine is no failure
settings.register_profile("few", deadline=None, max_examples=20)


def pytest_configure(config):
    """Choose how many examples Hypothesis tries, unless a test says so itself."""
    settings.load_profile("all" if config.getoption("--all") else "few")


@pytest.fixture
def thorough(request):
    """Whether a test that tries many moments tries all of them, or a few."""
    return request.config.getoption("--all")


@pytest.fixture(scope="session")
def real_data():
    """The directory with the five real streams."""
    directory = os.environ.get("HEROS_DATA")
    if not directory or not Path(directory, "covtype.parquet").exists():
        pytest.skip("the real streams are not here: set HEROS_DATA to their directory")
    return Path(directory)


@pytest.fixture
def dask_cluster():
    """Two dask workers, each a process of its own."""
    import distributed  # noqa: PLC0415 - slow, and few tests need it

    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster
