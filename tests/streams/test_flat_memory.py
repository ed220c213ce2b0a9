"""Reading a large file takes no more memory than reading a small one."""

import subprocess
import sys
from pathlib import Path

import pytest

READ = r"""
import re, sys
from pathlib import Path
from heros import streams
n = sum(len(y) for _, y in streams.read(sys.argv[1]).blocks())
print(n, re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
"""


def peak_megabytes(path, n_rows):
    """Return the peak memory of a separate process that reads the file."""
    answer = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    n, kilobytes = map(int, answer.stdout.split())
    assert n == n_rows
    return kilobytes / 1024


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to see peak memory")
def test_a_file_is_not_loaded_whole(tmp_path):
    head = b"a,b,c,d,label\n"
    rows = b"".join(b"%d,%d.5,name%d,%d,x\n" % (i, i, i % 100, i * i) for i in range(50_000))
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    small.write_bytes(head + rows * 2)
    large.write_bytes(head + rows * 20)
    grown = peak_megabytes(large, 1_000_000) - peak_megabytes(small, 100_000)
    assert large.stat().st_size > 30_000_000
    assert grown < 15
