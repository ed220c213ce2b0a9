"""Run the notebooks and keep what they show: ``python notebooks/renew.py``.

They run where nothing is, and what is kept of them says nothing about the machine.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parent
KEPT = ("text/plain", "text/html", "image/png")


def executed(path: Path, place: str) -> Any:
    """The notebook after all its cells have run in the directory `place`."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": place}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return notebook


def cleaned(notebook: Any) -> Any:
    """The notebook without what only the machine that ran it has to do with."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", ()):
            output.pop("metadata", None)
            if output.output_type in ("display_data", "execute_result"):
                output.metadata = {}
                output.data = {kind: output.data[kind] for kind in KEPT if kind in output.data}
    return notebook


def main() -> None:
    """Renew all notebooks."""
    for path in sorted(ROOT.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as place:
            nbformat.write(cleaned(executed(path, place)), path)
        sys.stdout.write(f"{path.name}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of the tools: what a notebook warns of, it shows
    main()
