"""The league: HEROS and what a user would pick instead, on the same instances, into records that are kept.

Everybody is run by the same code, in a process of their own; tables, ranks and the picture come from records
alone.
"""

from heros_league.arena import ARENA, SMALL, Arena
from heros_league.entrants import ENTRANTS, OURS, Entrant
from heros_league.starts import LIMIT, Fresh, Start, starts

__all__ = ["ARENA", "ENTRANTS", "LIMIT", "OURS", "SMALL", "Arena", "Entrant", "Fresh", "Start", "starts"]
