"""Runs on disk: one directory each, complete or not there at all.

A record is ``record.json`` (settings, versions, CPU, meter, results) and ``curves.parquet`` (what happened
over time, a row per window). Tables and reports read records; they never run a learner. Many records can be
packed into one file (`heros.run.packing`); whoever looks for one finds it at the same place.
"""

from heros.run.records.curves import curves_table
from heros.run.records.documents import document, provenance, run_from
from heros.run.records.files import curves_at, details, exists, find, mend, read, save, text_at
from heros.run.records.ids import id_from, id_of, run_id
from heros.run.records.overview import load

__all__ = [
    "curves_at",
    "curves_table",
    "details",
    "document",
    "exists",
    "find",
    "id_from",
    "id_of",
    "load",
    "mend",
    "provenance",
    "read",
    "run_from",
    "run_id",
    "save",
    "text_at",
]
