"""What pytest needs to know about this folder."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

from faults.interrupts import hear_ctrl_c

collect_ignore = [  # scripts; some need torch or MOA
    "kill_resume.py",
    "make_format_golden.py",
    "make_golden.py",
    "make_moa_golden.py",
]
hear_ctrl_c()
settings.register_profile("untimed", deadline=None)  # a busy machine is no failure
settings.load_profile("untimed")


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
