"""The league: HEROS and what a user would pick instead, on the same instances, into records that are kept.

Everybody is run by the same code, in a process of their own; tables, ranks and the picture come from records
alone.
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
