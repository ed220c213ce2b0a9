"""What the site takes from outside docs/: pages and figures that live beside the code they belong to.

In the repository the pages of docs/ link to them as ``../paper/…``; on the site they are below the pages.
Notebooks become pages, with what they have shown.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TAKEN = ("CHANGELOG.md", "CONTRIBUTING.md", "paper/figures/*.png", "paper/tables/*.md", "league/*.png")
OUTSIDE = re.compile(r"\]\((?:\.\./)+(?=(?:CHANGELOG|CONTRIBUTING)\.md|(?:paper|league)/)")
NOTEBOOK = re.compile(r"\]\((?:\.\./)+notebooks/(\w+)\.ipynb\)")
INSIDE = re.compile(r"\]\(docs/")


def on_files(files: Files, config: Any) -> Files:
    """Add them."""
    for pattern in TAKEN:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        text = page_of(json.loads(path.read_text(encoding="utf-8")))
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def page_of(notebook: dict[str, Any]) -> str:
    """A notebook as Markdown: text, code, and what it has shown."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        parts += [shown for output in cell.get("outputs", ()) if (shown := _shown(output))]
    return "\n\n".join(parts)


def _shown(output: dict[str, Any]) -> str:
    """The richest form of what a cell has shown."""
    data = output.get("data", {"text/plain": output.get("text", [])})
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{"".join(data["image/png"]).strip()}">'
    if "text/html" in data:  # in one line: a blank one would end it
        return "<div>" + re.sub(r"\s*\n\s*", " ", "".join(data["text/html"])) + "</div>"
    text = "".join(data.get("text/plain", [])).rstrip()
    return f"```text\n{text}\n```" if text else ""


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead their links to where they are on the site."""
    up = "../" * page.file.src_uri.count("/")
    markdown = NOTEBOOK.sub(rf"]({up}notebooks/\1.md)", markdown)
    return INSIDE.sub(f"]({up}", OUTSIDE.sub(f"]({up}", markdown))
