"""Processes that tests start by the dozen, forked from one that has imported what they need."""

from __future__ import annotations

import multiprocessing
from typing import Final

__all__ = ["CONTEXT"]

CONTEXT: Final = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(
    [
        "tests.unit.masking.test_first_decodes",
        "tests.unit.kubescript.changes.test_plan_store_faults",
        "tests.unit.kubescript.changes.test_plan_store_races",
        "psycopg",
        "sqlalchemy.dialects.postgresql.psycopg",
    ]
)
