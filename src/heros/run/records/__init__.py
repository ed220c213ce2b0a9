"""Records of runs on disk: one directory per run, written atomically.

A record is ``record.json`` (settings, versions, CPU, meter, results) and ``curves.parquet`` (one row per
window). Tables and reports only read records; they never run a model. `pack` collects many records in one
file; each record is then found under the same path as before.
"""

from heros.run.records.document import document, id_from, id_of, run_id
from heros.run.records.files import curves_at, details, exists, find, read, repair, save, text_at
from heros.run.records.packing import load, pack
from heros.run.records.provenance import provenance

__all__ = [
    "curves_at",
    "details",
    "document",
    "exists",
    "find",
    "id_from",
    "id_of",
    "load",
    "pack",
    "provenance",
    "read",
    "repair",
    "run_id",
    "save",
    "text_at",
]  # fmt: skip
