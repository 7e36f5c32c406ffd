"""What is wrong with the database of plans is told to the operator, without its password, and passes when it is put
right."""

from __future__ import annotations

import os
import resource
import sqlite3
import stat
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent import futures
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy
from sqlalchemy import Pool, event

from kubescript import config, errors, installation
from kubescript.changes import plan, recovery
from kubescript.changes.store import store
from kubescript.database import database, durable, patient
from tests.kit import postgres
from tests.kit.processes import CONTEXT
from tests.kit.stored_plans import Clock, answer, made

NOBODY: Final = 65534


def fault(call: Callable[[], object]) -> errors.PlanError:
    """The error of a store that cannot be used."""
    with pytest.raises(errors.PlanError) as caught:
        call()
    assert caught.value.code == "plan.store"
    assert "tell the operator" in caught.value.message
    assert caught.value.remedy
    return caught.value


# The file


def test_file_and_folder_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folder" / "plans.db"
    before = os.umask(0)
    try:
        plans = store.Store(str(file))
        plans.add(made())
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.parent.stat().st_mode) == stat.S_IMODE(file.parent.parent.stat().st_mode) == 0o700
    assert {each.name: stat.S_IMODE(each.stat().st_mode) for each in file.parent.iterdir()} == {
        "plans.db": 0o600,
        "plans.db-wal": 0o600,
        "plans.db-shm": 0o600,
    }
    plans.close()


def _readable(file: Path) -> None:
    file.chmod(0o640)


def _others(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(file, NOBODY, NOBODY)


def _linked(file: Path) -> None:
    file.rename(file.with_name("elsewhere"))
    file.symlink_to("elsewhere")


def _doubled(file: Path) -> None:
    file.with_name("elsewhere").hardlink_to(file)


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _open_folder(file: Path) -> None:
    file.parent.chmod(0o720)


def _linked_folder(file: Path) -> None:
    real = file.parent.rename(file.parent.with_name("elsewhere"))
    file.parent.symlink_to(real)


UNSAFE: Final = (_readable, _others, _linked, _doubled, _folder, _open_folder, _linked_folder)


@pytest.mark.parametrize("spoil", UNSAFE, ids=lambda function: function.__name__.strip("_"))
def test_a_file_that_others_may_read_or_replace_is_refused(tmp_path: Path, spoil: Callable[[Path], None]) -> None:
    file = tmp_path / "folder" / "plans.db"
    store.Store(str(file)).close()
    spoil(file)
    error = fault(lambda: store.Store(str(file)))
    assert str(file.parent) in error.remedy


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "plans.db"
    file.parent.mkdir(mode=0o700)
    file.write_text("my diary" * 500)
    file.chmod(0o600)
    assert "not a database" in fault(lambda: store.Store(str(file))).remedy
    assert file.read_text() == "my diary" * 500


def test_a_file_that_vanishes_is_not_made_anew_for_all_to_read(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "plans.db"
    plans = store.Store(str(file))
    plans.close()
    for each in file.parent.iterdir():
        each.unlink()
    fault(plans.newest)
    assert not file.exists()
    again = store.Store(str(file))
    assert again.newest() == []
    again.close()
    plans.close()


@pytest.mark.parametrize("name", ["what?mode=memory", "50%41.db", "#1.db", "a b.db", "ä.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    file = tmp_path / "folder" / name
    plans = store.Store(str(file))
    plans.add(made())
    assert file.exists()
    plans.close()


HOMES: Final = {
    "of XDG": ({"HOME": "home", "XDG_STATE_HOME": "state"}, "state/kubescript/plans.db"),
    "at home": ({"HOME": "home"}, "home/.local/state/kubescript/plans.db"),
    "at home when XDG's is relative": (
        {"HOME": "home", "XDG_STATE_HOME": ""},
        "home/.local/state/kubescript/plans.db",
    ),
}


@pytest.mark.parametrize(("variables", "expected"), HOMES.values(), ids=HOMES)
def test_without_a_setting_the_file_is_in_the_user_s_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str
) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    for name, folder in variables.items():
        monkeypatch.setenv(name, str(tmp_path / folder) if folder else "relative")
    monkeypatch.chdir(tmp_path)
    store.Store("").close()
    assert [str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*.db")] == [expected]


def test_sqlite_writes_ahead_and_waits_for_the_disk(tmp_path: Path) -> None:
    found = []

    def look(connection: sqlite3.Connection, *_: object) -> None:
        pragmas = ("journal_mode", "synchronous", "busy_timeout")
        found.append([connection.execute(f"PRAGMA {name}").fetchone()[0] for name in pragmas])

    plans = store.Store(str(tmp_path / "folder" / "plans.db"))
    event.listen(Pool, "checkout", look)
    try:
        plans.add(made())
    finally:
        event.remove(Pool, "checkout", look)
    assert found == [["wal", 2, 10_000]]  # 2 is FULL
    plans.close()


def test_a_database_that_stays_locked_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable, "_BUSY_TIMEOUT_S", 0.1)
    file = tmp_path / "folder" / "plans.db"
    plans = store.Store(str(file))
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "locked" in fault(lambda: plans.add(made())).remedy
    assert plans.newest() == []
    other.close()
    plans.add(made())
    assert len(plans.newest()) == 1
    plans.close()


def fill_the_disk(file: str, answers: Connection) -> None:
    """In a process of its own, where files may not grow: adds plans until that fails, and goes on when they may."""
    plans = store.Store(file)
    log = Path(file + "-wal")
    first = made()
    plans.add(first)
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)

    def attempt(call: Callable[[], object]) -> None:
        try:
            call()
        except errors.PlanError as error:
            answers.send((error.code, error.remedy))

    def add_many() -> None:
        for _ in range(1_000):
            plans.add(made())

    resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 50_000, most))
    attempt(add_many)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, most))
    attempt(lambda: plans.decide(first.id, answer(first)))
    kept = len(plans.newest(2_000))
    answers.send((kept, plans.get(first.id).state))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    plans.add(made())
    answers.send((len(plans.newest(2_000)) - kept, plans.decide(first.id, answer(first)).state))
    plans.close()


def test_a_full_disk_loses_nothing_and_later_calls_work_again(tmp_path: Path) -> None:
    answers, sender = CONTEXT.Pipe(duplex=False)
    file = tmp_path / "folder" / "plans.db"
    process = CONTEXT.Process(target=fill_the_disk, args=(str(file), sender))
    process.start()
    sender.close()
    for _ in range(2):
        code, remedy = answers.recv()
        assert code == "plan.store"
        assert "space" in remedy
    kept, state = answers.recv()
    assert 1 < kept < 1_000
    assert state == "pending"
    assert answers.recv() == (1, "approved")
    process.join()
    assert process.exitcode == 0


# The server


def test_a_dead_postgresql_is_told_and_its_plans_are_there_when_it_is_back(postgresql: postgres.Postgres) -> None:
    plans = store.Store(url := postgresql.database(), clock=Clock())
    new = made()
    plans.add(new)
    plans.decide(new.id, answer(new))
    postgresql.kill()
    try:
        for call in (
            lambda: plans.get(new.id),
            lambda: plans.claim(new.id, "one", 60),
            plans.list_unfinished,
            lambda: store.Store(url),
        ):
            error = fault(call)
            assert "whether it runs" in error.remedy
    finally:
        postgresql.start()
    assert plans.claim(new.id, "one", 60).state == "applying"
    plans.close()


def test_a_postgresql_that_was_made_anew_is_used_again(postgresql: postgres.Postgres) -> None:
    """Without a restart: the call that finds no tables fails, and the next one makes them."""
    url = postgresql.database()
    kept = recovery.Keeper(config.Plans(store=url))
    kept.store().add(made())
    schema = url.rpartition("%3D")[2]
    with postgresql.connect() as administrator:
        administrator.execute(f"DROP SCHEMA {schema} CASCADE; CREATE SCHEMA {schema}".encode())
    assert "does not exist" in str(fault(lambda: kept.store().newest()).remedy)
    again = made()
    kept.store().add(again)
    assert [each.plan.id for each in kept.store().newest()] == [again.id]
    kept.close()


def test_a_postgresql_that_hangs_is_given_up(postgresql: postgres.Postgres) -> None:
    """Neither a connection that is open nor a new one waits for an answer that does not come, as from a machine that is
    paused; it serves the next call when it is back."""
    url = postgresql.database()
    # Only what hangs is given a second: on a machine with other work to do, a good answer may take longer.
    opened, hasty = database.open_database(url, patience_s=60), database.find_database(url, patience_s=1)

    def ask(of: database.Database, patience_s: float | None = None) -> int:
        with of.writing(patience_s) as connection:
            return int(connection.exec_driver_sql("SELECT 1").scalar_one())

    assert ask(opened) == 1
    with postgresql.hanging():
        assert "in time" in fault(lambda: ask(opened, 1)).remedy
        assert "timeout" in fault(lambda: ask(hasty)).remedy  # of a new connection
    assert ask(opened) == 1
    with opened.reading() as connection, postgresql.hanging(), pytest.raises(sqlalchemy.exc.OperationalError):
        patient.set_deadline(1)
        connection.exec_driver_sql("SELECT 1")
    assert ask(opened) == 1
    opened.close()


def test_a_connection_that_breaks_in_a_call_fails_that_call_alone(postgresql: postgres.Postgres) -> None:
    plans = store.Store(postgresql.database(), clock=Clock())
    new = made()
    plans.add(new)

    def end_all(*_: object) -> None:
        with postgresql.connect() as administrator:
            administrator.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

    event.listen(sqlalchemy.Engine, "commit", end_all)
    try:
        fault(lambda: plans.decide(new.id, answer(new)))
    finally:
        event.remove(sqlalchemy.Engine, "commit", end_all)
    assert plans.get(new.id).decisions == ()
    assert plans.decide(new.id, answer(new)).state == "approved"
    plans.close()


def test_a_replica_that_hangs_in_a_transaction_does_not_lock_a_plan_for_long(postgresql: postgres.Postgres) -> None:
    plans = store.Store(postgresql.database())
    found = []

    def look(connection: sqlalchemy.Connection) -> None:
        names = ("idle_in_transaction_session_timeout", "statement_timeout", "synchronous_commit")
        found.append([connection.exec_driver_sql(f"SHOW {name}").scalar_one() for name in names])

    event.listen(sqlalchemy.Engine, "commit", look)
    try:
        plans.add(made())
    finally:
        event.remove(sqlalchemy.Engine, "commit", look)
    assert found == [["10s", "10s", "on"]]
    plans.close()


def shown(error: errors.PlanError) -> str:
    """All that anybody may get to see of an error."""
    return "".join(traceback.format_exception(error)) + error.explained + repr(error)


def test_a_password_is_in_no_error(postgresql: postgres.Postgres) -> None:
    wrong = postgresql.url.replace("@/", "x@/")
    error = fault(lambda: store.Store(wrong))
    assert "password authentication failed" in error.remedy
    for password in (postgresql.password + "x", postgresql.url.partition("postgres:")[2].partition("@")[0]):
        assert password not in shown(error)


PASSWORD: Final = "hunter2"
URLS: Final = (
    "postgresql://me:hunter2@127.0.0.1:1/plans",
    "postgresql+psycopg://me:hunter2@127.0.0.1:1/plans",
    "postgresql://me:hunter2@127.0.0.1:hunter2/plans",
    "postgresql://me@127.0.0.1:1/plans?password=hunter2",
    "postgresql://me@127.0.0.1:1/plans?connect_timeout=hunter2&password=hunter2",
    "postgresql://me@127.0.0.1:1/plans?hunter2=hunter2&password=hunter2",
    "postgresql+psycopg2://me:hunter2@127.0.0.1/plans",
    "mysql://me:hunter2@127.0.0.1/plans",
    "sqlite:///hunter2",
    "://hunter2",
    "postgresql://me:hunter2@[127.0.0.1/plans",
)


@pytest.mark.parametrize("url", URLS)
def test_a_url_that_cannot_be_used_is_told_without_what_is_secret_in_it(url: str) -> None:
    assert PASSWORD not in shown(fault(lambda: store.Store(url)))


def test_plans_of_another_version_are_refused_and_left_as_they_are(new_database: Callable[[], str]) -> None:
    url = new_database()
    plans = store.Store(url, clock=Clock())
    new = made()
    plans.add(new)
    plans.close()
    engine = sqlalchemy.create_engine(url if "://" in url else f"sqlite:///{url}")
    for number, why in ((7, "of version 7, and this kubescript knows version 2"), (2, "")):
        with engine.begin() as connection:
            connection.execute(sqlalchemy.text(f"UPDATE kubescript_schema SET version = {number}"))
        if why:
            assert why in fault(lambda: store.Store(url)).remedy
    engine.dispose()
    plans = store.Store(url, clock=Clock())
    assert plans.get(new.id).plan == new
    plans.close()


FORMER: Final = """
DROP TABLE kubescript_questions;
DROP INDEX kubescript_plans_author;
DROP INDEX kubescript_plans_person;
ALTER TABLE kubescript_plans DROP COLUMN person;
ALTER TABLE kubescript_plans DROP COLUMN author;
UPDATE kubescript_schema SET version = 1
"""
"""What makes the tables those of the first kubescript that had any."""


def test_plans_of_an_older_version_are_kept_and_can_be_decided(new_database: Callable[[], str]) -> None:
    """Also where two servers of the new version start at the same time, and one of the old one still runs."""
    url, clock = new_database(), Clock()
    older = store.Store(url, clock=clock)
    waiting, begun = made(), made()
    for each in (waiting, begun):
        older.add(each)
    older.decide(begun.id, answer(begun))
    engine = sqlalchemy.create_engine(url if "://" in url else f"sqlite:///{url}")
    with engine.begin() as connection:
        for statement in FORMER.strip().split(";"):
            connection.execute(sqlalchemy.text(statement))
    engine.dispose()
    with futures.ThreadPoolExecutor(2) as threads:
        newer, other = threads.map(lambda _: store.Store(url, clock=clock), range(2))
    assert older.get(waiting.id).plan == waiting
    assert newer.decide(waiting.id, answer(waiting)).state == "approved"
    assert other.claim(begun.id, "one", 60).plan == begun
    newer.add(made(author=plan.Author("user alice")))
    for opened in (older, newer, other):
        opened.close()


WITHOUT_PSYCOPG: Final = """
import sys
sys.modules["psycopg"] = None
from kubescript import errors
from kubescript.changes.store import store
try:
    store.Store("postgresql://me:hunter2@127.0.0.1/plans")
except errors.PlanError as error:
    print(error.code, error.remedy)
"""
LAZY: Final = """
import sys
from kubescript import app
from kubescript.changes import plan
from kubescript.changes.store import record
from kubescript.server import served
print([name for name in ("sqlalchemy", "psycopg") if name in sys.modules])
"""


def printed(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_who_names_postgresql_without_its_driver_is_told_what_to_install() -> None:
    assert printed(WITHOUT_PSYCOPG) == (
        f"plan.store the store 127.0.0.1/plans: psycopg is not installed; {installation.suggest_extra('postgres')}"
    )


def test_who_opens_no_store_waits_for_no_database_library() -> None:
    assert printed(LAZY) == "[]"
