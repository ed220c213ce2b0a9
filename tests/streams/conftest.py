import os
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="session")
def reference_streams(real_data):
    """The directory with rows of the synthetic streams as MOA writes them."""
    directory = Path(os.environ.get("HEROS_REFERENCE_STREAMS", real_data.parent / "streams"))
    if not (directory / "agr_a.parquet").exists():
        pytest.skip("MOA's rows are not here: set HEROS_REFERENCE_STREAMS to their directory")
    return directory


@pytest.fixture
def rows():
    """All instances of a stream as one matrix, the class last."""

    def of(stream, size=4096):
        blocks = [np.column_stack(block) for block in stream.blocks(size)]
        return np.concatenate(blocks) if blocks else np.empty((0, stream.schema.n_features + 1))

    return of
