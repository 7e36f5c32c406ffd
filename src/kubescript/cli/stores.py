"""What `kubescript doctor` says about PostgreSQL: whether a server can use its database, and how many do now."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from kubescript import config, errors
from kubescript.cli import findings
from kubescript.database import stores

__all__ = ["examine"]

_TOPIC: Final = "database"


def examine(settings: config.Settings, *, offline: bool) -> Iterator[findings.Finding]:
    """Yields a finding for each database of PostgreSQL that the settings name. Nothing is changed there. With
    `offline`, only their URLs and the files of these are examined."""
    for url in stores.list_urls(settings):
        yield _examine(url, offline=offline, is_shared=url == settings.replicas.store)


def _examine(url: str, *, offline: bool, is_shared: bool) -> findings.Finding:
    # SQLAlchemy takes 0.3 s to import.
    from kubescript.database import client_sessions, database

    try:
        with contextlib.closing(database.find_database(url)) as opened:
            if offline:
                return findings.Finding("ok", _TOPIC, f"{opened.where} was not asked: only its URL was read")
            with opened.rehearsing() as connection:
                count = client_sessions.count_replicas(connection)
                found = connection.dialect.server_version_info or ()
    except errors.PlanError as error:
        return findings.Finding("FAILED", _TOPIC, error.remedy or error.message)
    version = ".".join(map(str, found))
    text = f"{opened.where} is PostgreSQL {version}, and takes what is kept"
    if is_shared:
        text += "; 1 replica is alive" if count == 1 else f"; {count} replicas are alive"
    return findings.Finding("ok", _TOPIC, text)
