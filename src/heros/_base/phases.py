"""The phases of a learning step; CPU time is reported for each phase.

Examples
--------
>>> PHASES
('encode', 'evaluate', 'choose', 'train', 'other')
"""

from __future__ import annotations

from heros._base import core as _core

PHASES: tuple[str, ...] = tuple(_core.phases())
"""The names of the phases, in the same order as in the compiled core."""
