"""Tables as text: aligned, wrapped, and safe to print."""

import io

from heros._base.tables import Table


def shown(table, monkeypatch, width=40):
    monkeypatch.setenv("COLUMNS", str(width))
    out = io.StringIO()
    table.show(out)
    return out.getvalue().splitlines()


def test_text_wraps_in_its_own_column_at_the_edge_of_the_terminal(monkeypatch):
    table = Table(("name", "what"), [("zeta", "of the models near the best one, the cheapest")], align="lw")
    lines = shown(table, monkeypatch)
    assert lines[2:] == ["zeta  of the models near the best one,", "      the cheapest"]
    assert lines[1] == "─" * max(map(len, lines))
    assert max(map(len, lines)) <= 40
    assert str(table).splitlines()[1] == "zeta  of the models near the best one, the cheapest"


def test_a_terminal_too_narrow_for_words_still_shows_them(monkeypatch):
    lines = shown(Table(rows=[("x" * 30, "one two three four five six")], align="lw"), monkeypatch, width=10)
    assert " ".join(line[32:] for line in lines) == "one two three four five six"


def test_numbers_stand_below_each_other_and_title_and_caption_around(monkeypatch):
    table = Table(("policy", "AUROC", "n"), align="l", title="t", caption="c")
    table.add("random", 0.98765432, 7)
    table.add("ζ", "–", 1_000, style="dim")
    assert shown(table, monkeypatch) == [
        "t", "", "policy   AUROC     n", "────────────────────", "random  0.9877     7", "ζ            –  1000", "", "c"
    ]  # fmt: skip


def test_styles_are_for_terminals_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    table = Table(("a",), align="l")
    table.add("broken", style="red")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for out, expected in ((Terminal(), "\x1b[31mbroken\x1b[0m"), (io.StringIO(), "broken")):
        table.show(out)
        assert out.getvalue().splitlines()[-1] == expected


def test_a_cell_cannot_move_the_cursor_or_end_its_line():
    assert str(Table(rows=[("a\nb\x1b[2Jc",)])) == "a b [2Jc"


def test_a_table_of_nothing_is_empty(monkeypatch):
    assert str(Table()) == ""
    assert shown(Table(("a", "b")), monkeypatch) == ["a  b", "────"]
    assert shown(Table(("a", ""), align="lw"), monkeypatch)[0] == "a"


def test_columns_that_can_be_spared_go_where_the_terminal_is_narrow(monkeypatch, capsys):
    table = Table(["policy", "AUROC", "rank", "train s"], [["zeta", 0.9, 1, 2.5]], spare=["train s", "rank"])
    for columns, shown, said in (
        ("40", ["policy", "AUROC", "rank", "train", "s"], ""),
        ("24", ["policy", "AUROC", "rank"], "The terminal is too narrow for: train s."),
        ("14", ["policy", "AUROC"], "The terminal is too narrow for: train s, rank."),
        ("3", ["policy", "AUROC"], ""),
    ):
        monkeypatch.setenv("COLUMNS", columns)
        table.show()
        text = capsys.readouterr().out
        assert text.splitlines()[0].split() == shown
        assert said in " ".join(text.split())
    assert "train s" in str(table)  # the complete text if there is no terminal
