"""A separate copy of the library for every recipe, to which the recipe adds files."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import heros
from heros import _core

LIBRARY = Path(heros.__file__).parent
REPOSITORY = Path(__file__).parents[2]


class House:
    """A copy of the library's Python files with the compiled core, and its changes."""

    def __init__(self, root):
        self.library = root / "heros"
        self.touched = set()
        shutil.copytree(LIBRARY, self.library)
        core = Path(_core.__file__)
        (self.library / core.name).symlink_to(core)

    def add(self, path, text):
        """Add a file."""
        assert not (self.library / path).exists()
        (self.library / path).write_text(text, encoding="utf-8")
        self.touched.add(path)

    def insert(self, path, before, line):
        """Insert a line before another line, which must occur once."""
        text = (self.library / path).read_text(encoding="utf-8")
        assert text.count(f"\n{before}\n") == 1, f"{path} has changed: the recipe has to follow"
        (self.library / path).write_text(
            text.replace(f"\n{before}\n", f"\n{line}\n{before}\n"), encoding="utf-8"
        )
        self.touched.add(path)

    def python(self, *arguments):
        """Run Python with this copy and return the output."""
        paths = [self.library.parent, REPOSITORY / "tests", sysconfig.get_path("purelib")]
        done = subprocess.run(
            [sys.executable, "-S", *arguments],  # without site: the installed library must not be used
            env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "COLUMNS": "120"},
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def heros(self, *arguments):
        """Run the command line of this copy and return the output."""
        return self.python("-c", "from heros.cli import app; app()", *arguments)

    def contract(self, *tests):
        """Run tests that discover all parts in this copy; return pytest's result for each."""
        program = (
            "import sys, pytest, heros; assert heros.__file__.startswith(sys.argv[1]), heros.__file__;"
            "raise SystemExit(pytest.main(['-p', 'no:cacheprovider', '-vv', *sys.argv[2:]]))"
        )
        return self.python("-c", program, str(self.library), *tests)


@pytest.fixture
def house(tmp_path):
    """Return a copy of the library."""
    return House(tmp_path)
