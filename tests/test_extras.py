"""Optional dependencies that are installed, missing, or broken."""

import sys

import pytest

from heros import MissingExtra
from heros._base.extras import needed


def test_a_missing_package_names_its_extra(monkeypatch):
    import scipy.stats  # noqa: F401, PLC0415

    monkeypatch.setitem(sys.modules, "scipy", None)  # hides the package, not imported modules
    with pytest.raises(
        MissingExtra,
        match=r"^A fit needs .* \(extra 'sklearn'\)\. .* with: pip install 'scikit-learn>=1\.6'$",
    ):
        needed("scipy.stats", "A fit", "sklearn")


def test_a_package_that_misses_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "lacks_a_friend.py").write_text("import its_missing_friend\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="its_missing_friend") as caught:
        needed("lacks_a_friend", "A fit", "sklearn")
    assert not isinstance(caught.value, MissingExtra)
