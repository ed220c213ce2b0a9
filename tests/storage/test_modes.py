"""The read permissions of files written by HEROS."""

from __future__ import annotations

import os
import stat
import sys

import pytest

from heros import Heros, pools
from heros.ensemble.keyed import Keyed
from heros.storage import archive
from heros.streams.live.journal import Journal

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs Unix file modes")


@pytest.fixture(params=[0o022, 0o027, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_follow_the_umask(umask, tmp_path):
    archive.write(tmp_path / "file", "example", {}, {})
    Heros(pools.MLPGrid(hidden=[8]), k=1, seed=1).save(tmp_path / "model.heros")
    assert mode(tmp_path / "file") == mode(tmp_path / "model.heros") == 0o666 & ~umask


def test_what_was_sent_is_for_its_owner_alone(umask, tmp_path):
    archive.write(tmp_path / "file", "example", {}, {}, private=True)
    Journal(tmp_path / "journal").close()
    Keyed(Heros(pools.MLPGrid(hidden=[8]), k=1, seed=1), directory=tmp_path).close()
    assert [mode(tmp_path / name) for name in ("file", "journal", "keys.sqlite")] == [0o600] * 3
