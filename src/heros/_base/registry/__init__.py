"""The registry of parts: their creation, description, storage, names and command-line notation."""

from heros._base.registry.descriptions import described, own_part, rebuilt
from heros._base.registry.parse import answer_of, notation_of, policy_of, pool_of, written_parts
from heros._base.registry.part import Part, name_of, parts, policy_id, pool_id, variant_id

__all__ = [
    "Part",
    "answer_of",
    "described",
    "name_of",
    "notation_of",
    "own_part",
    "parts",
    "policy_id",
    "policy_of",
    "pool_id",
    "pool_of",
    "rebuilt",
    "variant_id",
    "written_parts",
]
