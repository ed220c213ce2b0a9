"""Reproduction of the paper: its grid, tables, figures and theorems.

The paper is Köbschall et al., "Lift What You Can: Green Online Learning with Heterogeneous Ensembles".

>>> import heros_paper as paper
>>> [cell.id for cell in paper.cells("mlp", ["electricity"], paper.PAPER[-1:], seeds=[1])]
['electricity/mlp50/zeta_0.05_0.2/k30/seed1']
"""

from heros_paper.as_printed import ZetaAsPrinted
from heros_paper.assumptions import ASSUMPTIONS, Assumption, Found, try_assumptions, write_found
from heros_paper.paired import Paired, paired_costs, read_paired, write_paired
from heros_paper.settings import (
    BASES,
    OURS,
    PAPER,
    POLICIES,
    SEEDS,
    STREAMS,
    Base,
    Cell,
    Size,
    beta_cells,
    cells,
    drift_cells,
    extra_cells,
    listed_cells,
    printed_cells,
)

__all__ = [
    "ASSUMPTIONS",
    "BASES",
    "OURS",
    "PAPER",
    "POLICIES",
    "SEEDS",
    "STREAMS",
    "Assumption",
    "Base",
    "Cell",
    "Found",
    "Paired",
    "Size",
    "ZetaAsPrinted",
    "beta_cells",
    "cells",
    "drift_cells",
    "extra_cells",
    "listed_cells",
    "paired_costs",
    "printed_cells",
    "read_paired",
    "try_assumptions",
    "write_found",
    "write_paired",
]
