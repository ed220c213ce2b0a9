"""The phases of a step, by which its CPU time is told apart.

Examples
--------
>>> PHASES
('encode', 'evaluate', 'choose', 'train', 'other')
"""

from __future__ import annotations

from heros._base import core as _core

__all__ = ["PHASES"]

PHASES: tuple[str, ...] = tuple(_core.phases())
"""Their names, in the order in which the core counts them."""
