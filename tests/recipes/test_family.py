"""Follow CONTRIBUTING.md to add a small family of models to the compiled core."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from heros import _core

REPOSITORY = Path(__file__).parents[2]
MODEL = """// The shares of the classes so far.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "core/state.hpp"
#include "pools/separate.hpp"

namespace heros {

struct Shares {
  static constexpr bool kLooksFirst = false;
  double prior;
  std::vector<double> counts;

  void expect_room(const std::vector<std::int32_t>&, int) const {}
  void grow(const std::vector<std::int32_t>&, int classes) { counts.resize(classes, prior); }
  void look(const double*, double* out) const {
    const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
    for (std::size_t c = 0; c < counts.size(); ++c) out[c] = counts[c] / all;
  }
  void train(const double*, double target, double weight) { counts[static_cast<std::size_t>(target)] += weight; }

  template <class Archive>
  void fields(Archive& a) { a("counts", counts); }
  void check(const std::vector<std::int32_t>&, int classes) const {
    require(static_cast<int>(counts.size()) == classes && all_of(counts, [](double n) { return n > 0 && n < 1e100; }),
            "counts of the classes");
  }
};
using SharesPool = SeparatePool<Shares>;

}  // namespace heros
"""
BINDING = """// Bindings of pools of shares.
#include "bind/bind.hpp"
#include "bind/arrays.hpp"
#include "pools/shares/pool.hpp"

namespace heros {

const FamilyBinding binding("shares", [](nb::module_& m) {
  nb::class_<SharesPool, Pool> pool(m, "SharesPool");
  pool.def("__init__",
           [](SharesPool* self, const std::vector<double>& priors) {
             std::vector<Shares> models;
             for (const double prior : priors) models.push_back({prior, {}});
             new (self) SharesPool(std::move(models), false);
           })
      .def("grow", [](SharesPool& self, const In1<std::int32_t>& values, int classes) {
        const auto pool = writable(self);
        expect_growth(*pool, values, classes);
        pool->grow(to_vector(values), classes);
      });
  bind_state(pool);
});

}  // namespace heros
"""
FAMILY = '''"""Pools of models that predict the shares of the classes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from heros._base import core as _core
from heros._base.parameters import above_zero
from heros._base.settings import Setting
from heros.data.schema import Schema
from heros.pools.family import BoundNative, CostModels, Family, equal, grid_of

__all__ = ["BoundShares", "Shares", "SharesGrid"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Shares(Family):
    """The shares of the classes so far.

    Parameters
    ----------
    {settings}
    costs
        The cost of a training step: "equal", "measured", or one number per model.
    """

    written: ClassVar[str] = "shares"
    settings = (Setting("prior", 1.0, above_zero(1e6), "The initial count of every class."),)
    cost_models: ClassVar[CostModels] = {"equal": equal}
    targets = "classes"

    costs: Any = "equal"


class SharesGrid(Shares):
    """Shares over a grid of initial counts."""

    def __init__(self, *, priors: Iterable[float] = (0.1, 1.0, 10.0), costs: Any = "equal") -> None:
        super().__init__(grid_of({"prior": priors}), costs=costs)


class BoundShares(BoundNative, of=Shares):
    """The models of a `Shares` pool for one schema."""

    native: _core.SharesPool

    def _native(self, schema: Schema, rng: np.random.Generator) -> _core.SharesPool:
        return _core.SharesPool([self.pool.complete(i)["prior"] for i in range(self.pool.n_models)])
'''


def built(root):
    """Build the core with the new family: compile its file and link it with objects of the last build."""
    core = Path(_core.__file__)
    # Do not use the build with sanitizers, because Python itself would have to be started with them.
    builds = [
        path.parent for path in REPOSITORY.glob("build/cp*/build.ninja") if (path.parent / core.name).exists()
    ]
    if not builds:
        pytest.skip("the core was not built in this checkout")
    for path, text in (("pools/shares/pool.hpp", MODEL), ("bind/shares.cpp", BINDING)):
        (root / "native" / path).parent.mkdir(parents=True, exist_ok=True)
        (root / "native" / path).write_text(text, encoding="utf-8")
    ninja = subprocess.run(
        [Path(sys.executable).with_name("ninja"), "-C", builds[0], "-t", "commands", core.name],
        capture_output=True,
        text=True,
        check=True,
    )
    commands = ninja.stdout.splitlines()
    (compile_one,) = (line for line in commands if line.endswith("native/bind/bayes.cpp"))
    words = shlex.split(compile_one)
    source, target = root / "native/bind/shares.cpp", root / "shares.o"
    options = [word for word in words[1:-1] if word.startswith(("-D", "-I", "-std", "-f", "-m", "-O"))]
    subprocess.run(
        [words[0], *options, "-O0", f"-I{root / 'native'}", "-c", source, "-o", target],
        cwd=builds[0],
        check=True,
    )
    link = next(line for line in reversed(commands) if f" -o {core.name} " in line)
    link = link.replace(
        f" -o {core.name} ", f" -o {shlex.quote(str(root / core.name))} {shlex.quote(str(target))} "
    )
    subprocess.run(link, shell=True, cwd=builds[0], check=True)
    return root / core.name


def test_a_family_is_its_folder_and_four_files(house, tmp_path, thorough):
    if not thorough:
        pytest.skip("compiles a file of the core: with --all")
    core = built(tmp_path)
    (house.library / core.name).unlink()
    (house.library / core.name).symlink_to(core)
    house.add("pools/shares.py", FAMILY)
    house.insert(
        "pools/__init__.py",
        "from heros.pools.tree_settings import TreeStats",
        "from heros.pools.shares import BoundShares, Shares, SharesGrid",
    )
    first = (
        '    "MLP", "Boosted", "BoostedGrid", "BoundBoosted", "BoundForest", "BoundHoeffding", "BoundJoin",'
    )
    house.insert("pools/__init__.py", first, '    "BoundShares", "Shares", "SharesGrid",')
    assert house.touched == {"pools/shares.py", "pools/__init__.py"}
    listed = (REPOSITORY / "tests/family_cases.py").read_text(encoding="utf-8")
    assert listed.count("\nCASES = {\n") == 1
    entry = '    "shares": Case(pools.Shares([{}, {"prior": 5.0}])),\n'
    listed = listed.replace("\nCASES = {\n", f"\nCASES = {{\n{entry}")
    (house.library.parent / "family_cases.py").write_text(listed, encoding="utf-8")

    assert "shares3" in house.heros("run", "agr_a", "--n", "500", "--pool", "shares", "--k", "1", "--json")
    tests = ["test_families_contract", "test_lock", "test_weights", "test_save_load", "test_hostile"]
    files = [
        str(path.relative_to(REPOSITORY))
        for path in REPOSITORY.glob("tests/**/test_*.py")
        if path.stem in tests
    ]
    found = house.contract("-o", "pythonpath=", *files, "-k", "hares or every_family_is_in_the_list")
    for name in tests:
        assert f"{name}.py::" in found, name
    assert "restore_shares" in found
