"""The databases of PostgreSQL that the settings name."""

from __future__ import annotations

from collections.abc import Iterator

from kubescript import config, errors

__all__ = ["check", "list_urls"]


def list_urls(settings: config.Settings) -> Iterator[str]:
    """Yields the URL of each database."""
    for url in dict.fromkeys((settings.replicas.store, settings.plans.store)):
        if "://" in url:
            yield url


def check(settings: config.Settings) -> None:
    """Raises ConfigError for a database that no server can ever reach from here: its URL is wrong, a file of it is
    missing, or its driver. What the database itself answers is not asked: a server starts, and reads, without it."""
    for url in list_urls(settings):
        # SQLAlchemy takes 0.3 s to import.
        from kubescript.database import database

        try:
            database.find_database(url).close()
        except errors.PlanError as error:
            raise errors.ConfigError("replicas.store or plans.store cannot be used", remedy=error.remedy) from None
