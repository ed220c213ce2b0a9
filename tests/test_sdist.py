"""What a download of the library carries."""

import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_source_distribution_is_small_and_without_the_paper(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build")
    monkeypatch.chdir(ROOT)
    archive = tmp_path / backend.build_sdist(str(tmp_path))
    assert archive.stat().st_size < 2_000_000
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"CMakeLists.txt", "LICENSE", "src/heros/__init__.py", "native/core/step.hpp"} <= names
    assert not [name for name in names if "paper/" in name]
