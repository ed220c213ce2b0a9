"""What the site takes from outside docs/: pages and figures that live beside the code they belong to.

In the repository the pages of docs/ link to them as ``../paper/…``; on the site they are below the pages.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
TAKEN = ("CHANGELOG.md", "CONTRIBUTING.md", "paper/figures/*.png", "paper/tables/*.md", "league/*.png")
OUTSIDE = re.compile(r"\]\((?:\.\./)+(?=(?:CHANGELOG|CONTRIBUTING)\.md|(?:paper|league)/)")
INSIDE = re.compile(r"\]\(docs/")


def on_files(files: Files, config: Any) -> Files:
    """Add them."""
    for pattern in TAKEN:
        for path in sorted(ROOT.glob(pattern)):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead their links to where they are on the site."""
    up = "../" * page.file.src_uri.count("/")
    return INSIDE.sub(f"]({up}", OUTSIDE.sub(f"]({up}", markdown))
