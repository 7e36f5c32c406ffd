"""One caller at several replicas of a server that share a database: real servers, over http, with a real PostgreSQL. The
balancer between them is the test."""

from __future__ import annotations

import concurrent.futures
import contextlib
import csv
import hashlib
import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest

from tests.kit import patience, postgres, replicas, trails

pytestmark = pytest.mark.promise("H-12")

NAMES: Final = ("alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi")
REQUESTS: Final = 60
SESSIONS: Final = 4
INITIALIZE: Final[dict[str, Any]] = {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "a client", "version": "1"},
}  # fmt: skip


@dataclass(frozen=True)
class Site:
    """Two replicas, with their database."""

    each: tuple[replicas.Replica, replicas.Replica]
    database: postgres.Postgres
    schema: str
    tokens: dict[str, str]
    http: httpx2.Client

    def post(self, at: int, name: str, method: str, session: str = "", **params: Any) -> httpx2.Response:
        """A caller's request to one of the replicas."""
        headers = {"authorization": f"Bearer {self.tokens[name]}", "accept": "application/json, text/event-stream"}
        if session:
            headers["mcp-session-id"] = session
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.http.post(f"{self.each[at].url}/mcp", json=body, headers=headers)

    def begin(self, at: int, name: str) -> httpx2.Response:
        """Begins a session."""
        return self.post(at, name, "initialize", **INITIALIZE)

    def end(self, at: int, name: str, session: str) -> None:
        """Ends a session."""
        headers = {"authorization": f"Bearer {self.tokens[name]}", "mcp-session-id": session}
        assert self.http.delete(f"{self.each[at].url}/mcp", headers=headers).status_code == 200

    def ask(self, at: int, name: str) -> int:
        """The status of a request without a session."""
        headers = {"authorization": f"Bearer {self.tokens[name]}", "accept": "application/json"}
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        return self.http.post(f"{self.each[at].url}/mcp", json=body, headers=headers).status_code

    def exhaust(self, name: str) -> Counter[int]:
        """Sends a caller's requests to both in turn, until both refuse them; returns how many had which status."""
        every: Counter[int] = Counter()
        asked = {0, 1}
        while asked:
            for at in sorted(asked):
                status = self.ask(at, name)
                every[status] += 1
                if status != 200:
                    asked.remove(at)
            assert every[200] <= 4 * REQUESTS
        return every

    def query(self, text: str) -> Any:
        """The first value that the database has."""
        with self.database.connect() as connection:
            row = connection.execute(f"SET search_path = {self.schema}; {text}".encode())
            while row.nextset():
                pass
            found = row.fetchone() if row.description else None
            return found[0] if found else None

    def count(self, at: int, event: str) -> int:
        """How often a replica has told its operator of something."""
        told = [json.loads(line) for line in self.each[at].complaints]
        return [each.get("event") for each in told].count(event)

    @contextlib.contextmanager
    def keep_sessions_waiting(self) -> Iterator[None]:
        """Sessions that begin inside the block wait for the database."""
        with self.database.connect() as connection, connection.transaction():
            connection.execute(f"LOCK TABLE {self.schema}.kubescript_client_sessions IN EXCLUSIVE MODE".encode())
            yield

    def wait_until_both_ask(self) -> None:
        """Waits until neither takes the database for away any longer: both have told it that they live."""
        now = time.time()  # the test's machine is the database's
        # A test has moved the last sign of a dead one an hour ahead.
        living = f"FROM kubescript_replicas WHERE NOT ended AND seen BETWEEN {now} AND {now + 300}"
        patience.until(lambda: self.query(f"SELECT count(*) = 2 {living}"))

    def wait_for_a_new_minute(self) -> None:
        """Requests are counted by the database's minutes: what follows belongs to one."""
        patience.until(lambda: self.query("SELECT extract(second FROM clock_timestamp()) < 30"))


def said(answer: httpx2.Response) -> str:
    return str(answer.json()["error"]["message"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("site")
    tokens = {name: secrets.token_hex(16) for name in NAMES}
    file = folder / "tokens.csv"
    with file.open("w") as opened:
        csv.writer(opened).writerows([token, name, f"uid-{name}", ""] for name, token in tokens.items())
    file.chmod(0o600)
    with postgres.Postgres() as database:
        url = database.database()
        settings = folder / "kubescript.toml"
        settings.write_text(
            f'snapshot = "{trails.snapshot(folder)}"\ntoolsets = ["code"]\n[auth]\ntokens_file = "{file}"\n'
            f'[replicas]\nstore = "{url}"\n[http]\nrequests_per_minute = {REQUESTS}\nmax_sessions = {SESSIONS}\n'
        )
        each = tuple(replicas.Replica(folder, name, ["--config", str(settings)]) for name in "ab")
        # A kept connection that a replica closes meanwhile would fail the next request.
        with httpx2.Client(timeout=60, limits=httpx2.Limits(max_keepalive_connections=0)) as http:
            try:
                for replica in each:
                    replica.start()
                for replica in each:
                    replica.wait()
                yield Site((each[0], each[1]), database, url.rpartition("%3D")[2], tokens, http)
            finally:
                for replica in each:
                    replica.close()


def test_requests_are_counted_over_all_replicas(site: Site) -> None:
    """Whichever of them a caller asks, as many as the limit says are answered in a minute; another caller has as many.
    A database whose clock is put back locks nobody out until it is as late again."""
    site.wait_for_a_new_minute()
    assert site.exhaust("alice")[200] == REQUESTS
    assert site.ask(0, "bob") == site.ask(1, "bob") == 200
    site.query("UPDATE kubescript_allowances SET minute = minute + 60")
    patience.until(lambda: site.ask(0, "alice") == 200)


def test_sessions_are_counted_over_all_replicas(site: Site) -> None:
    """One that ends makes room at every replica; another caller has room meanwhile."""
    opened = [(at, site.begin(at, "carol").headers["mcp-session-id"]) for at in (0, 0, 1, 1)]
    for at in (0, 1):
        refused = site.begin(at, "carol")
        assert refused.status_code == 503 and "too many sessions" in said(refused)
    assert site.begin(0, "dave").status_code == 200
    site.end(*(opened[0][0], "carol", opened[0][1]))
    patience.until(lambda: site.query("SELECT count(*) FROM kubescript_client_sessions") == SESSIONS)
    assert site.begin(1, "carol").status_code == 200


def test_a_burst_of_sessions_leaves_the_database_to_others(site: Site) -> None:
    """Each replica asks it of one session of a caller at a time, so a burst neither occupies all that ask nor makes the
    database seem away; of all that the caller begins at once, as many begin as the limit says."""
    # After a second a replica waits no longer for an answer, and the database is about to end the question.
    waiting = (
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
        "clock_timestamp() - query_start < interval '500 ms' AND "
        "(query LIKE '%advisory%' OR query LIKE 'INSERT INTO kubescript_client_sessions%')"
    )
    with concurrent.futures.ThreadPoolExecutor(16) as threads:
        with site.keep_sessions_waiting():
            answers = [threads.submit(site.begin, at, "frank") for at in (0, 1) * 8]
            patience.until(lambda: site.query(waiting))
            most = max(site.query(waiting) for _ in range(20))
        statuses = Counter(answer.result().status_code for answer in answers)
    # One of each replica, and one that a replica on a busy machine has given up before it came here; else eight.
    assert most <= 4
    # Where the machine is busy, the database has seemed away, and each replica has admitted its part.
    assert 0 < statuses[200] <= SESSIONS and not set(statuses) - {200, 503}, statuses
    assert site.begin(0, "bob").status_code == 200


def test_a_session_of_a_replica_that_has_ended_is_known_to_the_others(site: Site) -> None:
    """Its client is told to start again; so is one whose balancer asks the wrong replica. Another caller hears no more
    than of a session that has never been."""
    began = time.monotonic()
    site.wait_until_both_ask()
    session = site.begin(0, "dave").headers["mcp-session-id"]
    elsewhere = site.post(1, "dave", "ping", session)
    assert elsewhere.status_code == 404 and "it is at another replica" in said(elsewhere)
    assert site.post(0, "dave", "ping", session).status_code == 200
    for at, name, handle in ((1, "bob", session), (1, "dave", secrets.token_hex(16))):
        assert said(site.post(at, name, "ping", handle)) == "Session not found"

    site.each[0].kill()
    for moved in (-100, 3600):  # a hundred seconds later, or with a clock that was put back by an hour
        site.query(
            f"UPDATE kubescript_replicas SET seen = seen + {moved} WHERE id = (SELECT replica FROM "
            f"kubescript_client_sessions WHERE digest = encode(sha256('{session}'), 'hex'))"
        )
        ended = site.post(1, "dave", "ping", session)
        assert ended.status_code == 404 and "has ended; start a new one" in said(ended)
    assert said(site.post(1, "bob", "ping", session)) == "Session not found"
    assert site.begin(1, "dave").status_code == 200
    site.each[0].start()
    site.each[0].wait()
    session = site.begin(0, "dave").headers["mcp-session-id"]
    site.each[0].end()
    assert "has ended; start a new one" in said(site.post(1, "dave", "ping", session))
    site.each[0].start()
    site.each[0].wait()
    assert 0 < site.count(1, "replicas.not_sticky") <= 1 + (time.monotonic() - began) / 60  # once in a minute


def test_while_the_database_is_away_each_replica_admits_its_part(site: Site) -> None:
    """No request waits for it for long, and none is left without an answer. What was spent before counts, and so do,
    when it is back, the sessions that began meanwhile."""
    site.wait_until_both_ask()
    site.wait_for_a_new_minute()  # else the next minute's share is left when the database goes
    assert {site.ask(at, "grace") for at in (0, 1) * (REQUESTS // 2)} == {200}
    told = site.count(1, "replicas.away")  # a busy machine may have made it seem away before
    with site.database.away():
        assert site.exhaust("grace")[200] == 0
        answered = site.exhaust("erin")
        assert answered[200] <= REQUESTS and not set(answered) - {200, 429}, answered
        begun = [site.begin(at, "heidi") for at in (0, 1) for _ in range(SESSIONS)]
        digests = [
            hashlib.sha256(each.headers["mcp-session-id"].encode()).hexdigest() for each in begun if each.is_success
        ]
        assert len(digests) == SESSIONS
        patience.until(lambda: site.count(1, "replicas.away") > told)
        assert site.count(1, "replicas.away") == told + 1
    kept = f"SELECT count(*) FROM kubescript_client_sessions WHERE digest IN {tuple(digests)}"
    patience.until(lambda: site.query(kept) == SESSIONS)
    assert [site.begin(at, "heidi").status_code for at in (0, 1)] == [503, 503]
    patience.until(lambda: site.ask(0, "carol") == 200)


def test_a_database_that_was_lost_is_used_again(site: Site) -> None:
    """An empty one in its place gets the tables, without a restart, and the limits hold over all replicas."""
    site.query(f"DROP SCHEMA {site.schema} CASCADE; CREATE SCHEMA {site.schema}")
    tables = f"SELECT count(*) FROM pg_tables WHERE schemaname = '{site.schema}'"
    patience.until(lambda: site.query(tables) > 0)
    patience.until(lambda: site.query("SELECT count(*) FROM kubescript_replicas") == 2)
    statuses = [site.begin(at, "alice").status_code for at in (0, 1) * SESSIONS]
    assert statuses == [200] * SESSIONS + [503] * SESSIONS
