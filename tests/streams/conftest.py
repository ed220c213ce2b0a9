import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def reference_streams(real_data):
    """Return the directory with rows of the synthetic streams as written by MOA."""
    directory = Path(os.environ.get("HEROS_REFERENCE_STREAMS", real_data.parent / "streams"))
    if not (directory / "agr_a.parquet").exists():
        pytest.skip("MOA's rows are not here: set HEROS_REFERENCE_STREAMS to their directory")
    return directory


@pytest.fixture
def rows():
    """Return all instances of a stream as one matrix, with the class in the last column."""

    def of(stream, size=4096):
        blocks = [np.column_stack(block) for block in stream.blocks(size)]
        return np.concatenate(blocks) if blocks else np.empty((0, stream.schema.n_features + 1))

    return of
