"""A missing library is reported with its install command, and libraries are imported only when needed."""

import subprocess
import sys

import pytest

BLOCK = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name == "{library}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
import heros.integrations.{library}
"""


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("library", ["river", "sklearn", "capymoa"])
def test_a_missing_library_gives_the_install_command(library):
    said = run(BLOCK.format(library=library)).stderr.splitlines()[-1]
    start = f"heros.MissingExtra: heros.integrations.{library} needs packages that are not installed "
    assert said.startswith(f"{start}(extra '{library}'). Install them with: pip install '")
    package = {"sklearn": "scikit-learn"}.get(library, library)
    assert f"'{package}>=" in said  # the packages themselves, so that this also works in a clone


def test_mlflow_is_missed_where_it_is_used():
    code = BLOCK.format(library="mlflow") + "import heros\nheros.mlflow.Callback()"
    said = run(code).stderr.splitlines()[-1]
    assert said.startswith("heros.MissingExtra: heros.mlflow needs packages that are not installed ")
    assert "pip install 'mlflow-skinny>=" in said


def test_heros_imports_none_of_them():
    code = "import sys, heros; print({'river', 'sklearn', 'capymoa', 'pandas', 'mlflow'} & set(sys.modules))"
    assert run(code).stdout.strip() == "set()"
