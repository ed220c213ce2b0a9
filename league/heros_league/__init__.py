"""The league: a comparison of HEROS with learners of other libraries on the same instances.

The same code runs every learner, each in its own process. Tables, ranks and the figure are made from records.
"""

from heros_league.arena import ALL, ARENA, NUMBERS, SMALL, WHOLE, Arena
from heros_league.entrants import ENTRANTS, OURS, REGRESSORS, Entrant
from heros_league.starts import LIMIT, Fresh, Start, all_starts

__all__ = [
    "ALL",
    "ARENA",
    "ENTRANTS",
    "LIMIT",
    "NUMBERS",
    "OURS",
    "REGRESSORS",
    "SMALL",
    "WHOLE",
    "Arena",
    "Entrant",
    "Fresh",
    "Start",
    "all_starts",
]
