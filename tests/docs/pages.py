"""The pages of the documentation and their code blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
FENCE = re.compile(
    r"^```(?P<language>\w*) *(?P<options>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its options, its text and its first line number."""

    language: str
    options: str
    text: str
    line: int

    @property
    def runs(self) -> bool:
        """Whether the tests can run the block; otherwise its title tells the reader."""
        return "not run by the tests" not in self.options

    @property
    def needs(self) -> str | None:
        """The package that the block needs, as stated in its title."""
        found = re.search(r"needs (\w+)", self.options)
        return found[1] if found else None

    def commands(self) -> list[tuple[str, str]]:
        """The commands of a console block, each with the output below it."""
        found: list[tuple[str, str]] = []
        for command in re.split(r"^\$ ", self.text, flags=re.MULTILINE)[1:]:
            lines = command.split("\n")
            last = next(i for i, line in enumerate(lines) if not line.endswith("\\"))
            call = " ".join(line.rstrip("\\").strip() for line in lines[: last + 1])
            found.append((call, "\n".join(lines[last + 1 :])))
        return found


def blocks(page: str) -> list[Block]:
    """Return the fenced blocks of a page in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        Block(one["language"], one["options"], one["text"], text.count("\n", 0, one.start()) + 1)
        for one in FENCE.finditer(text)
    ]


def comparable(output: str) -> str:
    """Return output without the parts that differ between runs and machines: numbers, processor, widths."""
    text = re.sub(r"\d[\d,.]*(?:e-?\d+)?", "#", " ".join(output.split()))
    return re.sub(r"no data for (?:[^()]|\([^()]*\))*\)", "no data for it)", re.sub("─+", "─", text))
