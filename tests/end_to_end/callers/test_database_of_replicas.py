"""What operators see of the database that replicas share: in `kubescript doctor`, in /metrics and at a server's start."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import httpx2
import pytest

from kubescript import config
from kubescript.cli import demo, findings, stores
from kubescript.transports import peers
from tests.kit import commands, http_server, patience, relay
from tests.kit.postgres import Postgres

_FLAGS: Final = ("--toolsets", "code", "--snapshot", str(demo.SNAPSHOT))
_WRONG: Final = {
    "postgresql://me:x@db.example.invalid/plans": "failed to resolve host 'db.example.invalid'",
    "postgresql://me:x@127.0.0.1:1/plans": "Connection refused",
    "postgresql://me:x@db.example.invalid/plans?sslrootcert=/gone/ca.crt": "sslrootcert of its URL is /gone/ca.crt",
    "postgresql://me:x@db.example.invalid:port/plans": "write a file's path, or postgresql://",
}


def examine(url: str, *, offline: bool = False) -> findings.Finding:
    """What doctor says of a database."""
    settings = config.Settings.model_validate({"replicas": {"store": url}, "plans": {"store": url}})
    (found,) = stores.examine(settings, offline=offline)
    return found


def count(base: str) -> float:
    """How many replicas a server's metrics tell."""
    lines = httpx2.get(f"{base}/metrics", timeout=60).text.splitlines()
    (found,) = (line for line in lines if line.startswith("kubescript_replicas "))
    return float(found.partition(" ")[2])


@pytest.mark.parametrize(("url", "why"), _WRONG.items(), ids=("host", "port", "file", "url"))
def test_doctor_says_why_a_database_is_not_reached(url: str, why: str) -> None:
    """The host is named as it is, and the password is not, even if that is one letter of the host."""
    mark, topic, text = examine(url)
    assert (mark, topic) == ("FAILED", "database") and why in text
    assert "me:x" not in text


def test_doctor_tries_a_database_and_changes_nothing(postgresql: Postgres) -> None:
    """A wrong password, and a role that may make no tables, fail; the right one is ok, and no table is made."""
    url = postgresql.database()
    wrong = examine(url.replace("@/", "x@/"))
    assert wrong.mark == "FAILED" and "password authentication failed" in wrong.text
    schema = url.rpartition("search_path%3D")[2]
    with postgresql.connect() as administrator:
        administrator.execute("DROP ROLE IF EXISTS poor")
        administrator.execute("CREATE ROLE poor LOGIN PASSWORD 'poor'")
        administrator.execute(f"GRANT USAGE ON SCHEMA {schema} TO poor".encode())
    poor = f"postgresql://poor:poor@/postgres?host={postgresql.folder}&options=-csearch_path%3D{schema}"
    refused = examine(poor)
    assert refused.mark == "FAILED" and f"permission denied for schema {schema}" in refused.text
    assert examine(url, offline=True).text.endswith("was not asked: only its URL was read")
    found = examine(url)
    assert found.mark == "ok" and found.text.endswith("; 0 replicas are alive"), found
    with postgresql.connect() as administrator:
        made = administrator.execute("SELECT tablename FROM pg_tables WHERE schemaname = %s", [schema]).fetchall()
        administrator.execute(f"REVOKE ALL ON SCHEMA {schema} FROM poor; DROP ROLE poor".encode())
    assert made == []


def test_a_server_without_its_database_is_seen_in_its_metrics(
    postgresql: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kubescript_replicas` is 0 until the database is back, and the server stays ready."""
    for name in ("_LOOK_S", "_AWAY_S"):
        monkeypatch.setattr(peers, name, 0.2)  # in place of five seconds
    url = postgresql.database()
    settings = tmp_path / "server.toml"
    settings.write_text(f'[replicas]\nstore = "{url}"\n')
    flags = (*_FLAGS, "--config", str(settings))
    with http_server.serving(flags) as port:
        base = f"http://127.0.0.1:{port}"
        patience.until(lambda: count(base) == 1)
        assert examine(url).text.endswith("; 1 replica is alive")
        postgresql.kill()
        try:
            patience.until(lambda: count(base) == 0)
            assert httpx2.get(f"{base}/ready", timeout=60).status_code == 200
        finally:
            postgresql.start()
        patience.until(lambda: count(base) == 1)


def test_a_database_that_is_far_away_is_used(postgresql: Postgres, tmp_path: Path) -> None:
    """With 50 ms for each answer a server makes its tables, and says when it ends; doctor sees both."""
    settings = tmp_path / "server.toml"
    with relay.delaying(postgresql, 0.05) as url:
        settings.write_text(f'[replicas]\nstore = "{url}"\n')
        with http_server.serving((*_FLAGS, "--config", str(settings))) as port:
            patience.until(lambda: count(f"http://127.0.0.1:{port}") == 1)
            assert examine(url).text.endswith("; 1 replica is alive")
        assert examine(url).text.endswith("; 0 replicas are alive")


def test_a_database_that_no_pod_can_reach_ends_the_start(tmp_path: Path) -> None:
    """A CA file that is missing is told in place of serving; a database that is away ends nothing."""
    settings = tmp_path / "server.toml"
    settings.write_text('[replicas]\nstore = "postgresql://me:x@127.0.0.1:1/plans?sslrootcert=/gone/ca.crt"\n')
    flags = (*_FLAGS, "--config", str(settings))
    done = commands.run("serve", *flags, "--transport", "http", folder=tmp_path, environment=commands.BARE)
    assert done.returncode != 0 and "sslrootcert of its URL is /gone/ca.crt, which cannot be read" in done.stderr
    done = commands.run("doctor", *flags, "--offline", folder=tmp_path, environment=commands.BARE)
    assert done.returncode == 1 and "\nFAILED  database" in done.stdout
    settings.write_text(settings.read_text().partition("?")[0] + '"\n')
    with http_server.serving(flags) as port:
        assert httpx2.get(f"http://127.0.0.1:{port}/ready", timeout=60).status_code == 200
