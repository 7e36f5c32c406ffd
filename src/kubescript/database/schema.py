"""The tables of the plans' database, and how those of an older version become these.

A new table, or a new column with a `server_default`, needs no code of its own here: `update` adds what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import sqlalchemy
from sqlalchemy.schema import CreateColumn

__all__ = [
    "ALLOWANCES", "CLIENT_SESSIONS", "PLANS", "QUESTIONS", "REPLICAS", "RUNBOOK_USES", "SESSIONS", "VERSION",
    "read_versions", "update",
]  # fmt: skip

VERSION: Final = 2
"""The version of the tables below and of the JSON in them."""
_FORMER: Final = 1
"""The older version that is updated."""
_TABLES: Final = sqlalchemy.MetaData()
_SCHEMA: Final = sqlalchemy.Table(
    "kubescript_schema",
    _TABLES,
    sqlalchemy.Column("version", sqlalchemy.Integer, primary_key=True),
)
PLANS: Final = sqlalchemy.Table(
    "kubescript_plans",
    _TABLES,
    sqlalchemy.Column("id", sqlalchemy.String, primary_key=True),
    sqlalchemy.Column("session", sqlalchemy.String, nullable=False),  # the author's
    sqlalchemy.Column("created", sqlalchemy.Double, nullable=False),  # all times are seconds since the epoch
    sqlalchemy.Column("expires", sqlalchemy.Double, nullable=False),
    sqlalchemy.Column("hash", sqlalchemy.String, nullable=False),
    sqlalchemy.Column("plan", sqlalchemy.LargeBinary, nullable=False),  # JSON, never changed
    sqlalchemy.Column("state", sqlalchemy.String, nullable=False),  # an expired plan keeps the state that it had
    sqlalchemy.Column("progress", sqlalchemy.LargeBinary, nullable=False),  # JSON: decisions, steps and outcome
    sqlalchemy.Column("owner", sqlalchemy.String, nullable=False, default=""),  # the server that applies it
    sqlalchemy.Column("lease_s", sqlalchemy.Double, nullable=False, default=0.0),
    sqlalchemy.Column("lease_until", sqlalchemy.Double, nullable=False, default=0.0),
    sqlalchemy.Column("ended", sqlalchemy.Double),  # when it was declined, applied or stopped
    sqlalchemy.Column("reported", sqlalchemy.Boolean, nullable=False, default=False),
    sqlalchemy.Column("author", sqlalchemy.String, nullable=False, server_default=""),  # the user known to the server
    sqlalchemy.Column("person", sqlalchemy.String, nullable=False, server_default=""),  # see `plan.Author.person`
    sqlalchemy.Column("principal", sqlalchemy.String, nullable=False, server_default=""),  # `plan.Author.principal`
    sqlalchemy.Index("kubescript_plans_author", "author", "created"),
    sqlalchemy.Index("kubescript_plans_person", "person", "created"),
)
QUESTIONS: Final = sqlalchemy.Table(
    "kubescript_questions",  # to clients that come back with the answer
    _TABLES,
    sqlalchemy.Column("id", sqlalchemy.String, primary_key=True),  # a digest: what the client has is not here
    sqlalchemy.Column("person", sqlalchemy.String, nullable=False),  # for the limits
    sqlalchemy.Column("created", sqlalchemy.Double, nullable=False),
    sqlalchemy.Column("expires", sqlalchemy.Double, nullable=False),
    sqlalchemy.Column("question", sqlalchemy.LargeBinary, nullable=False),  # JSON
    sqlalchemy.Column("answer", sqlalchemy.LargeBinary, nullable=False),  # JSON: the script's answer
    sqlalchemy.Index("kubescript_questions_person", "person", "created"),
)
SESSIONS: Final = sqlalchemy.Table(
    "kubescript_sessions",  # of people on the page
    _TABLES,
    sqlalchemy.Column("digest", sqlalchemy.String, primary_key=True),  # of a secret that only the browser has
    sqlalchemy.Column("person", sqlalchemy.String, nullable=False),  # see `user.User.person`
    sqlalchemy.Column("created", sqlalchemy.Double, nullable=False),
    sqlalchemy.Column("expires", sqlalchemy.Double, nullable=False),
    sqlalchemy.Column("sealed", sqlalchemy.LargeBinary, nullable=False),
    sqlalchemy.Index("kubescript_sessions_person", "person", "created"),
)
RUNBOOK_USES: Final = sqlalchemy.Table(
    "kubescript_runbook_uses",  # approvals in advance within the last day
    _TABLES,
    sqlalchemy.Column("plan", sqlalchemy.String, primary_key=True),
    sqlalchemy.Column("runbook", sqlalchemy.String, nullable=False),
    sqlalchemy.Column("at", sqlalchemy.Double, nullable=False),
    sqlalchemy.Index("kubescript_runbook_uses_at", "runbook", "at"),
)

REPLICAS: Final = sqlalchemy.Table(
    "kubescript_replicas",  # servers that share this database
    _TABLES,
    sqlalchemy.Column("id", sqlalchemy.String, primary_key=True),
    sqlalchemy.Column("seen", sqlalchemy.Double, nullable=False),  # seconds since the epoch, by the database's clock
    sqlalchemy.Column("ended", sqlalchemy.Boolean, nullable=False),  # whether it has said that it ends
)
CLIENT_SESSIONS: Final = sqlalchemy.Table(
    "kubescript_client_sessions",  # of MCP clients at replicas; also of dead ones, for a while
    _TABLES,
    sqlalchemy.Column("digest", sqlalchemy.String, primary_key=True),  # of the session's id
    sqlalchemy.Column("person", sqlalchemy.String, nullable=False),  # a digest of `user.User.person`
    sqlalchemy.Column("route", sqlalchemy.String, nullable=False),  # the endpoint
    sqlalchemy.Column("replica", sqlalchemy.String, nullable=False),
    sqlalchemy.Index("kubescript_client_sessions_person", "person", "route"),
    sqlalchemy.Index("kubescript_client_sessions_replica", "replica"),
)
ALLOWANCES: Final = sqlalchemy.Table(
    "kubescript_allowances",  # the requests of each person in the present minute
    _TABLES,
    sqlalchemy.Column("person", sqlalchemy.String, primary_key=True),  # a digest of `user.User.person`
    sqlalchemy.Column("minute", sqlalchemy.Integer, nullable=False),  # since the epoch, by the database's clock
    sqlalchemy.Column("taken", sqlalchemy.Integer, nullable=False),  # by all replicas; may exceed the limit
)


def update(connection: sqlalchemy.Connection) -> None:
    """Creates the tables, or adds what those of version 1 lack, in one transaction. Tables of a version that is not
    known stay as they are."""
    # All tables are looked at with a few questions: a database that is far away takes its time for each.
    schema = sqlalchemy.inspect(connection)
    columns = _read_names(schema.get_multi_columns(filter_names=list(_TABLES.tables)))
    if _SCHEMA.name not in columns:
        _TABLES.create_all(connection)
        connection.execute(sqlalchemy.insert(_SCHEMA).values(version=VERSION))
        return
    versions = read_versions(connection)
    if versions not in ([_FORMER], [VERSION]):
        return
    indexes = _read_names(schema.get_multi_indexes(filter_names=list(columns)))
    for table in _TABLES.sorted_tables:
        if table.name in columns:
            _complete(connection, table, columns[table.name], indexes[table.name])
        else:
            table.create(connection)
    if versions != [VERSION]:
        connection.execute(sqlalchemy.update(_SCHEMA).values(version=VERSION))


def read_versions(connection: sqlalchemy.Connection) -> list[int]:
    """Returns the versions that the database names: one, unless something else has written there."""
    return list(connection.scalars(sqlalchemy.select(_SCHEMA.c.version)))


def _read_names(found: Mapping[tuple[str | None, str], Iterable[Any]]) -> dict[str, set[str]]:
    """Returns the names of each table's columns or indexes."""
    return {table: {each["name"] for each in parts} for (_, table), parts in found.items()}


def _complete(connection: sqlalchemy.Connection, table: sqlalchemy.Table, columns: set[str], indexes: set[str]) -> None:
    """Adds the columns and indexes that an older table lacks. A server of the older version, which still runs, can use
    the table."""
    for column in table.columns:
        if column.name not in columns:
            definition = CreateColumn(column).compile(connection)
            connection.exec_driver_sql(f"ALTER TABLE {table.name} ADD COLUMN {definition}")
    for index in sorted(table.indexes, key=lambda index: str(index.name)):
        if index.name not in indexes:
            index.create(connection)
