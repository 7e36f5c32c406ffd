"""The database of plans: its connections, and its errors in an operator's terms. `schema` has its tables.

SQLite in a file by default; PostgreSQL where several replicas share their plans. Both keep a committed transaction in
any crash: SQLite with synchronous=FULL, PostgreSQL with synchronous_commit.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import sqlalchemy
from sqlalchemy import exc

from kubescript import errors, installation, private_files
from kubescript.database import durable, schema

__all__ = ["Connection", "Database", "find_database", "find_file", "open_database", "take_lock", "unavailable"]

Connection = sqlalchemy.Connection

_SCHEMES: Final = ("postgresql", "postgresql+psycopg")
_FILES: Final = ("sslrootcert", "sslcert", "sslkey")
"""The parameters of a PostgreSQL URL that name files."""
_OF_SYSTEM: Final = "system"
"""The value of `sslrootcert` that names no file, but the machine's CAs."""
_SCHEMA_LOCK: Final = 0x6B756265
"""A lock id that no other program uses."""
_MAX_WHY: Final = 200
_MISSING: Final = frozenset({"42P01", "42703"})
"""PostgreSQL's codes of a table and a column that are not there."""
_PATIENCE_S: Final = 10
"""How many seconds a statement of PostgreSQL may take, and a transaction."""


class Database:
    """Connections to one database. Safe for use from many threads."""

    def __init__(
        self,
        engine: sqlalchemy.Engine,
        where: str,
        remedy: str,
        secrets: tuple[str, ...] = (),
        begin: Callable[[float | None], None] = lambda _: None,
    ) -> None:
        """`begin` is called before each transaction, with the seconds that it may take if these are not the usual
        ones."""
        self.where = where
        """A description without credentials: a file, or the host and the database."""
        self._engine = engine
        self._remedy = remedy
        self._secrets = secrets
        self._begin = begin
        self._is_lost = False
        """Whether tables were missing: the database was made anew, or an older one has been restored."""
        self._is_sqlite = engine.dialect.name == "sqlite"

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlalchemy.Connection]:
        """Yields a connection for one SELECT. Raises PlanError."""
        self._make_again()
        with self._transaction(), self._engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self, patience_s: float | None = None) -> Iterator[sqlalchemy.Connection]:
        """Yields a connection in a transaction, which is on disk if this ends without an error. One of PostgreSQL may
        take `patience_s` seconds, if these are not the usual ones. Raises PlanError; in this case nothing was written,
        unless the connection broke during the commit."""
        self._make_again()
        with self._transaction(patience_s), self._engine.begin() as connection:
            # In a transaction that has already read, SQLite does not wait for a lock.
            if self._is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection

    def prepare(self) -> None:
        """Creates missing tables. Raises PlanError, also if another version wrote them."""
        # Longer than a question may take: a database that is far away would never have its tables.
        with self.writing(_PATIENCE_S) as connection:
            self._update(connection)

    @contextlib.contextmanager
    def rehearsing(self) -> Iterator[sqlalchemy.Connection]:
        """Yields a connection to PostgreSQL on which `prepare` has been done, and takes it back. Raises PlanError."""
        with self.reading() as connection:
            self._update(connection)
            yield connection

    def _make_again(self) -> None:
        """Creates the tables that were missing at the last look. Raises PlanError."""
        if self._is_lost:
            self._is_lost = False
            self.prepare()

    def _update(self, connection: sqlalchemy.Connection) -> None:
        """Brings the tables up to date. Raises PlanError if another version wrote them."""
        # When two replicas start at the same time, only one makes the tables.
        take_lock(connection, _SCHEMA_LOCK)
        schema.update(connection)
        versions = schema.read_versions(connection)
        if versions != [schema.VERSION]:
            found = ", ".join(map(str, versions)) or "none"
            why = f"its plans are of version {found}, and this kubescript knows version {schema.VERSION}"
            raise unavailable(self.where, why, "use the kubescript that wrote them, or name another store")

    def close(self) -> None:
        """Closes all connections that are not in use."""
        self._engine.dispose()

    @contextlib.contextmanager
    def _transaction(self, patience_s: float | None = None) -> Iterator[None]:
        """Begins the time that a transaction may take, and turns an error of the database into a PlanError."""
        try:
            self._begin(patience_s)
            yield
        except exc.SQLAlchemyError as error:
            cause = error.orig if isinstance(error, exc.DBAPIError) else None
            self._is_lost = self._is_lost or getattr(cause, "sqlstate", None) in _MISSING
            raise unavailable(self.where, self._why(error), self._remedy) from None
        except UnicodeError:  # a lone surrogate, typed on a terminal
            raise errors.PlanError("what is to be kept of a plan is not valid Unicode", code="plan.failed") from None

    def _why(self, error: exc.SQLAlchemyError) -> str:
        """Returns the first line of the driver's error without secrets."""
        cause: BaseException | None = error
        # Other lines, and SQLAlchemy's own text, quote the written data.
        if isinstance(error, exc.DBAPIError):
            cause = error.orig
        text = str(cause).strip()
        line = text.partition("\n")[0] or type(cause).__name__
        # A driver may quote the URL, and so its password. A short one may be part of the host's name, which is needed.
        for secret in self._secrets:
            line = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", line)
        return line[:_MAX_WHY]


def take_lock(connection: sqlalchemy.Connection, lock: int) -> None:
    """Waits until no other transaction has this lock, and has it until this one ends. SQLite has one writing
    transaction at a time."""
    if connection.dialect.name != "sqlite":
        taken = sqlalchemy.func.pg_advisory_xact_lock(lock)
        connection.execute(sqlalchemy.select(taken))


def unavailable(where: str, why: str, remedy: str) -> errors.PlanError:
    """Returns an error with a message for the model and a remedy for the operator."""
    return errors.PlanError(
        "the store of plans cannot be used, so nothing more is sent from here; tell the operator of this server",
        code="plan.store",
        remedy=f"the store {where}: {why}; {remedy}",
    )


def open_database(url: str, patience_s: int = _PATIENCE_S) -> Database:
    """Opens a database, or creates it: a file's path, a PostgreSQL URL, or "" for the default file. A statement of
    PostgreSQL may take `patience_s` seconds, and a transaction. Raises PlanError."""
    database = find_database(url, patience_s)
    try:
        database.prepare()
    except BaseException:
        database.close()
        raise
    return database


def find_database(url: str, patience_s: int = _PATIENCE_S) -> Database:
    """Returns a database whose tables may be missing; a file is created. PostgreSQL is not asked yet, so this fails
    only if the URL, its files or the driver are missing or wrong. Raises PlanError."""
    file = find_file(url)
    return _postgres(url, patience_s) if file is None else _sqlite(file)


def find_file(url: str) -> Path | None:
    """Returns the file of a store, which may not exist; None for PostgreSQL. Raises PlanError."""
    if "://" in url:
        return None
    return Path(url) if url else _default_file()


def _default_file() -> Path:
    """Returns the file in the user's state directory. Raises PlanError."""
    try:
        return private_files.state_folder() / "plans.db"
    except private_files.NotPrivate as error:
        raise unavailable("in the default file", error.why, "set plans.store to a file") from None


def _sqlite(path: Path) -> Database:
    """Opens a file, or creates it. Raises PlanError."""
    file = path.absolute()
    _make_file(file)
    quoted = urllib.parse.quote(str(file))
    # The file is not recreated if it disappears, since SQLite would make it readable by others.
    address = f"file:{quoted}?mode=rw"
    engine = sqlalchemy.create_engine(
        "sqlite://", creator=lambda: durable.connect(address), poolclass=sqlalchemy.QueuePool
    )
    remedy = "check the space on its disk, and whether the server's user may write to it and its folder"
    return Database(engine, str(file), remedy)


def _make_file(file: Path) -> None:
    """Creates the file and its folder, for the server's user alone, and checks those that exist. Raises PlanError."""
    try:
        private_files.make_folders(file.parent)
        _check_folder(file.parent)
        private_files.check_links(file)
        # The file is created without being opened: closing any descriptor of the file would drop the locks that SQLite
        # holds on it in this process.
        with contextlib.suppress(FileExistsError):
            os.mknod(file, stat.S_IFREG | 0o600)
        private_files.check_status(file, file.lstat())
    except private_files.NotPrivate as error:
        raise unavailable(str(error.path), error.why, error.remedy) from None
    except OSError as error:
        why = os.strerror(error.errno or 0)
        raise unavailable(str(file), why, "let the server's user write there, or name another file") from None


def _check_folder(folder: Path) -> None:
    """Checks that no other user can put files beside the database: SQLite would replay a planted journal."""
    try:
        private_files.check_folder(folder)
    except private_files.NotPrivate as error:
        remedy = "name a file in a folder of its own, which the server makes, or chmod 700 the folder"
        raise private_files.NotPrivate(error.path, error.why, remedy) from None


def _postgres(text: str, patience_s: int) -> Database:
    try:
        url = sqlalchemy.make_url(text)
    except (exc.ArgumentError, ValueError):  # their messages quote the URL, and so its password
        raise _unreadable_url() from None
    if url.drivername not in _SCHEMES:
        raise _unreadable_url()
    where = f"{url.host or 'local PostgreSQL'}/{url.database or ''}"
    _check_files(url, where)
    try:
        from kubescript.database import patient

        engine = sqlalchemy.create_engine(
            url.set(drivername="postgresql+psycopg"),
            connect_args={
                "connect_timeout": (patience_s + 1) // 2,
                "tcp_user_timeout": patience_s * 1_000,  # a dead host does not answer at all
                "prepare_threshold": None,  # a pool between us and the database may forget prepared statements
            },
            isolation_level="READ COMMITTED",
            pool_pre_ping=True,  # the database may have been down since the last call
            pool_timeout=patience_s,
        )
    except ImportError:
        raise unavailable(where, "psycopg is not installed", installation.suggest_extra("postgres")) from None
    sqlalchemy.event.listen(engine, "do_connect", lambda _dialect, _record, _, options: patient.connect(**options))
    sqlalchemy.event.listen(engine, "connect", lambda connection, _record: _set_session(connection, patience_s))
    remedy = "check whether it runs and is reached from here, and whether the URL's user may use it"
    return Database(engine, where, remedy, _secrets(url), lambda given: patient.set_deadline(given or patience_s))


def _check_files(url: sqlalchemy.URL, where: str) -> None:
    """Checks that the files of a URL can be read: else no connection ever succeeds. Raises PlanError."""
    for name in _FILES:
        path = url.query.get(name, _OF_SYSTEM)
        if isinstance(path, str) and path != _OF_SYSTEM and not os.access(path, os.R_OK):
            why = f"{name} of its URL is {path}, which cannot be read"
            raise unavailable(where, why, "put the file there (in Kubernetes: as a key of the server's Secret)")


def _unreadable_url() -> errors.PlanError:
    return unavailable("a URL", "cannot be used", "write a file's path, or postgresql://USER:PASSWORD@HOST/DATABASE")


def _set_session(connection: Any, patience_s: int) -> None:
    # Without the last setting, a replica that lost its network during a transaction would lock a plan for two hours.
    limit = f"'{patience_s}s'"
    connection.execute(
        "SET synchronous_commit = on; "
        f"SET statement_timeout = {limit}; SET idle_in_transaction_session_timeout = {limit}"
    )
    connection.commit()


def _secrets(url: sqlalchemy.URL) -> tuple[str, ...]:
    """Returns every form in which a password from the URL may be quoted, longest first."""
    values = [url.password, url.query.get("password"), url.query.get("sslpassword")]
    found = set()
    for value in values:
        if isinstance(value, str) and value:
            found |= {value, urllib.parse.quote(value), urllib.parse.quote(value, safe="")}
    # A shorter form may be part of a longer one, which must be replaced as a whole.
    return tuple(sorted(found, key=len, reverse=True))
