"""The contents of the source distribution."""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def test_the_source_distribution_is_small_and_without_the_paper(tmp_path, monkeypatch):
    backend = pytest.importorskip("scikit_build_core.build")
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("this is not a clone")
    # Only files of the clone: a virtual environment in it has 100,000 more files, which take long to filter.
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    clone = tmp_path / "clone"
    for name in listed.stdout.split("\0"):
        if (ROOT / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, clone / name)
    (clone / ".venv").mkdir()
    (clone / ".venv" / "module.py").touch()
    monkeypatch.chdir(clone)
    archive = tmp_path / backend.build_sdist(str(tmp_path))
    assert archive.stat().st_size < 2_000_000
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert {"CMakeLists.txt", "LICENSE", "src/heros/__init__.py", "native/core/step.hpp"} <= names
    assert not [name for name in names if "paper/" in name or ".venv" in name]
