"""One page with the paper's tables beside ours, and its figures from our runs."""

from __future__ import annotations

import base64
import os
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from heros.run.report.page import write_page
from heros_paper.figures import draw_figures
from heros_paper.results import grids
from heros_paper.tables import tables_of
from heros_paper.tables.agreement import Agreement, agreement

__all__ = ["write_paper_page"]

Directory = str | os.PathLike[str]

INTRO = (
    "The tables and figures of Köbschall et al., “Lift What You Can: Green Online Learning with "
    "Heterogeneous Ensembles”, from our own runs, each cell beside the paper's own figure."
)
CAPTIONS = {
    "tradeoff": "Mean ranks by AUROC and by energy; bars join policies that do not differ at 95 %.",
    "phases": "CPU time per instance by phase.",
    "beta": "The distribution of the running performances on WISDM, with a Beta fit.",
    "drift": "The cost of a step over all drifts of a stream.",
    "exploring": "AUROC and Σγ with and without exploration; lines join a policy's ε.",
    "schema": "HEROS: the steps for one instance.",
}


def write_paper_page(records_dir: Directory, page: Directory) -> None:
    """Write one self-contained HTML page with all tables and figures.

    Parameters
    ----------
    records_dir
        The directory of the records.
    page
        The HTML file to write.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as records:
    ...     write_paper_page(records, f"{records}/page.html")  # of no records at all
    ...     text = Path(records, "page.html").read_text(encoding="utf-8")
    >>> "not run" in text, "https://" in text
    (True, False)
    """
    with TemporaryDirectory() as directory:
        pictures = [path for path in draw_figures(records_dir, directory) if path.suffix == ".png"]
        figures = "".join(_figure(path) for path in pictures)
    found = grids(records_dir)
    tables = "".join(
        f"<h3>{escape(table.title)}</h3>{table.html()}" for table in tables_of(records_dir, *found)
    )
    standing = "".join(_standing(agreement(grid)) for grid in found)
    body = (
        f'<h1>The paper, reproduced</h1><p class="faint">{INTRO}</p>{standing}'
        f"<h2>Tables</h2>{tables}<h2>Figures</h2>{figures or '<p>None: no records.</p>'}"
    )
    write_page(page, "HEROS: the paper, reproduced", body)


def _standing(standing: Agreement) -> str:
    head = str(standing).partition("\n\n")[0].replace("**", "")  # without its table of differing cells
    return "".join(f"<p>{escape(line)}</p>" for line in head.splitlines())


def _figure(path: Path) -> str:
    kind = next((text for name, text in CAPTIONS.items() if path.stem.startswith(name)), "")
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    caption = f"{path.stem.replace('_', ' ')}. {kind}"
    return (
        f"<figure><figcaption>{escape(caption)}</figcaption>"
        f'<img alt="{escape(caption)}" style="max-width:100%;background:#fff" '
        f'src="data:image/png;base64,{data}"></figure>'
    )
