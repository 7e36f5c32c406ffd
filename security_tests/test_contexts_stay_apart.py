"""Several clusters behind one server, assuming layers 1 and 2 have fallen: a call reaches a listed context or none, and
each under its own policy and with its own credentials.

Everything is the product's own, put together by `app` from a file; the clusters are recording servers.
"""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
import pytest

from kubescript import app, config, programs, types
from kubescript.broker import operation
from kubescript.wire import exchanges
from kubescript_sandbox.host import spawner
from security_tests import benches
from security_tests.recorder import CANARY, Recorder
from tests.kit import quiet

Count = Callable[[int], None]

NAMES: Final = ("closed", "open", "caf\u00e9", "unlisted")
SETTINGS: Final = """
toolsets = ["code"]
kubeconfig = "{path}"
sandbox = {{ strict = {strict} }}
[contexts.closed]
denied_resources = [{{ group = "", kind = "Secret" }}]
[contexts.open]
read_only = false
deny_defaults = false
[contexts."caf\u00e9"]
denied_resources = [{{ kind = "Pod" }}]
"""


@dataclass
class Fleet:
    """A server of three contexts; a fourth is in the kubeconfig only."""

    servers: dict[str, Recorder]
    settings: config.Settings
    application: app.Application

    def ask(self, frame: str, before: str = "") -> types.Answer:
        """What becomes of a script that sends this CALL; its result is the reply."""
        script = f"{before}\nsock.sendall(frame(4, {frame!r}))\n{benches.READ}"
        return anyio.run(self.application.operator.evaluator.evaluate, script, 60_000)

    def reached(self) -> dict[str, list[str]]:
        """The request lines each server has seen since the last time."""
        seen = {name: [each.line for each in server.take()] for name, server in self.servers.items()}
        return {name: lines for name, lines in seen.items() if lines}


def kubeconfig(folder: Path, servers: dict[str, Recorder]) -> Path:
    """One file, one context for each server, each with a token of its own."""
    path = folder / "config"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "unlisted",
        "clusters": [{"name": n, "cluster": {"server": f"http://127.0.0.1:{s.port}"}} for n, s in servers.items()],
        "users": [{"name": n, "user": {"token": f"token-of-{ascii(n)[1:-1]}"}} for n in servers],
        "contexts": [{"name": n, "context": {"cluster": n, "user": n}} for n in servers],
    }))  # fmt: skip
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("contexts")


def opened(command: tuple[str, ...], folder: Path) -> Iterator[Fleet]:
    """The product with this fork server."""
    with quiet.silence():
        servers = {name: Recorder() for name in NAMES}
        file = folder / "kubescript.toml"
        file.write_text(SETTINGS.format(path=kubeconfig(folder, servers), strict=str(benches.STRICT).lower()))
        source = spawner.Spawner(command)
        source.start()
        settings = config.load({}, file)
        with app.opened(settings, source) as made:
            yield Fleet(servers, settings, made)
        source.close()
        for server in servers.values():
            server.__exit__(None, None, None)


@pytest.fixture(scope="module")
def fleet(folder: Path) -> Iterator[Fleet]:
    """Its workers run anything."""
    yield from opened(benches.HOSTILE, folder)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Its workers are the product's."""
    yield from opened(programs.WORKER, tmp_path_factory.mktemp("honest"))


def call(context: Any, path: str = "api/v1/namespaces/home/configmaps", **more: Any) -> str:
    return json.dumps({"method": "GET", "path": path.split("/"), "context": context, **more})


NOT_LISTED: Final = {
    "in the kubeconfig, but not listed": "unlisted",
    "the same with a space": "unlisted ",
    "nothing like it": "prod",
    "a space": " ",
    "a space before": " open",
    "a space after": "open ",
    "a tab": "open\t",
    "a line break": "open\n",
    "upper case": "OPEN",
    "title case": "Open",
    "NUL": "\0",
    "NUL after": "open\0",
    "NUL between": "open\0closed",
    "a Cyrillic o": "\u043epen",
    "a Greek omicron": "\u03bfpen",
    "full width": "\uff4f\uff50\uff45\uff4e",
    "a zero-width space": "op\u200ben",
    "a zero-width joiner": "open\u200d",
    "a soft hyphen": "op\u00aden",
    "a byte order mark": "\ufeffopen",
    "a direction override": "\u202enepo",
    "another normal form": "cafe\u0301",
    "a ligature": "\ufb00",
    "a dot": ".",
    "dot dot": "..",
    "a path up": "../open",
    "a path through": "closed/../open",
    "a path below": "open/",
    "an absolute path": "/etc/kubernetes/admin.conf",
    "a quoted name": "%6fpen",
    "two names": "closed,open",
    "a list in text": '["open"]',
    "a pattern": "*",
    "a regular expression": "o.en",
    "a format": "{0}",
    "a percent": "%s",
    "an attribute": "__class__",
    "the word for none": "None",
    "a URL": "http://127.0.0.1/",
    "an address": "127.0.0.1",
    "an overlong name": "open" * 100_000,
}


@pytest.mark.promise("P-10")
@pytest.mark.parametrize("name", NOT_LISTED)
def test_a_context_that_is_not_listed_is_refused(name: str, fleet: Fleet) -> None:
    """No form of a name reaches anything but the context of exactly that name, and the next call works."""
    answer = fleet.ask(call(NOT_LISTED[name]))
    assert fleet.reached() == {}
    assert "policy.unknown_context" in answer.text
    assert "k8s.contexts() gives closed, open, …" in answer.text
    assert len(answer.text) < 2_000
    assert "1 call denied: GET (policy.unknown_context)" in answer.text.splitlines()[-1]
    assert "ConfigMapList" not in answer.text
    fleet.ask(call("open"))
    assert list(fleet.reached()) == ["open"]


MISSHAPEN: Final = {
    "null": call(None),
    "a number": call(0),
    "true": call(True),
    "a list": call(["open"]),
    "an object": call({"name": "open"}),
    "half a surrogate": call("x").replace('"x"', '"\\ud800"'),
    "a second field": call("open", contexts=["open"]),
    "a cluster": call("open", cluster="open"),
}


@pytest.mark.promise("P-10", "W-01")
@pytest.mark.parametrize("name", MISSHAPEN)
def test_a_misshapen_context_ends_its_worker(name: str, fleet: Fleet) -> None:
    """What is no text is no name: the worker is dropped, nothing is sent, and the next script works."""
    answer = fleet.ask(MISSHAPEN[name])
    assert answer.code == "worker.protocol", answer
    assert fleet.reached() == {}
    fleet.ask(call("closed"))
    assert list(fleet.reached()) == ["closed"]


@pytest.mark.promise("P-10")
def test_a_field_given_twice_is_one_name(fleet: Fleet) -> None:
    """Two contexts in one frame are the last of them, for the policy as for the connection."""
    for first, last in (("open", "closed"), ("closed", "open")):
        frame = call(first, "api/v1/namespaces/home/secrets").replace('"context"', f'"context": "{first}", "context"')
        frame = frame.rstrip("}") + f', "context": "{last}"}}'
        answer = fleet.ask(frame)
        reached = fleet.reached()
        assert list(reached) == (["open"] if last == "open" else [])
        assert ("policy.denied_resource" in answer.text) is (last == "closed")


def path(plural: str) -> str:
    return f"api/v1/namespaces/home/{plural}"


VERDICTS: Final[dict[tuple[str, str, str], str]] = {
    ("", "GET", "configmaps"): "closed",
    ("", "GET", "secrets"): "policy.denied_resource",
    ("", "POST", "configmaps"): "policy.read_only",
    ("closed", "GET", "secrets"): "policy.denied_resource",
    ("closed", "GET", "pods"): "closed",
    ("closed", "POST", "configmaps"): "policy.read_only",
    ("open", "GET", "secrets"): "open",
    ("open", "POST", "configmaps"): "open",
    ("open", "GET", "pods"): "open",
    ("open", "POST", "secrets"): "open",
    ("caf\u00e9", "GET", "pods"): "policy.denied_resource",
    ("caf\u00e9", "GET", "configmaps"): "caf\u00e9",
    ("caf\u00e9", "GET", "secrets"): "caf\u00e9",  # as metadata
    ("caf\u00e9", "POST", "secrets"): "policy.denied_resource",
    ("caf\u00e9", "POST", "pods"): "policy.denied_resource",
    ("caf\u00e9", "POST", "configmaps"): "policy.read_only",
}
"""context, method, resource ▶ the server that is reached, or the rule."""


@pytest.mark.promise("P-11")
def test_each_call_is_decided_by_its_own_context_s_policy(fleet: Fleet, attacks: Count) -> None:
    """Whatever was allowed elsewhere in the same script, before or at the same time, a context's own policy decides."""
    attacks(len(VERDICTS))
    for (context, method, plural), expected in VERDICTS.items():
        frame = json.loads(call(context, path(plural)))
        frame |= {"method": method, **({"body": {"metadata": {"name": "x"}}} if method == "POST" else {})}
        before = f"sock.sendall(frame(4, {call('open', path('secrets'))!r}))\n{benches.READ}"  # what is open stays open there
        answer = fleet.ask(json.dumps(frame), before)
        reached = fleet.reached()
        assert reached.pop("open")[0] == "GET /api/v1/namespaces/home/secrets HTTP/1.1"
        if expected.startswith("policy."):
            assert expected in answer.text
            assert reached == {}
        elif expected != "open":
            assert list(reached) == [expected]
            assert CANARY not in answer.text


@pytest.mark.promise("P-11")
def test_no_credential_and_no_call_crosses_over(fleet: Fleet, attacks: Count) -> None:
    """Many threads, one call each for a context of its choice: every server sees its own calls with its own token."""
    calls, threads = 400, 8
    attacks(calls)
    door, chosen = fleet.application.operator.contexts, Counter[str]()
    lock = threading.Lock()

    def work(seed: int) -> None:
        pick = random.Random(seed)
        for number in range(calls // threads):
            context = pick.choice([name for name in NAMES if name != "unlisted"] + [""])
            frame = exchanges.Call("GET", (*path("configmaps").split("/"), f"{seed}-{number}"), context=context)
            reply, response = door.handle(frame, operation.Operation(), 120)
            assert reply.fault is None and response is not None
            assert json.loads(b"".join(response.chunks))["metadata"]["name"] == f"{seed}-{number}"
            with lock:
                chosen[context or "closed"] += 1

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for name, server in fleet.servers.items():
        seen = server.take()
        assert len(seen) == chosen[name]
        assert {value for each in seen for value in each.header("Authorization")} <= {
            f"Bearer token-of-{ascii(name)[1:-1]}"
        }


SCRIPTS: Final = {
    "a name that is equal to any": (
        "class Any(str):\n"
        "    def __eq__(self, other): return True\n"
        "    def __hash__(self): return hash('closed')\n"
        "k8s.context(Any('unlisted')).coreV1().list_namespaced_config_map('home')"
    ),
    "a changed list": "k8s.contexts().append('unlisted')\nk8s.context('unlisted')",
    "a new announcement": "k8s._announce(('unlisted',))",
    "a new announcement by name": "getattr(k8s, '_announce')(('unlisted',))",
    "the session behind": "k8s._session.context = 'unlisted'",
    "a name of its own": "k8s.name = 'unlisted'\nk8s.coreV1().list_namespaced_config_map('home')",
    "a loader": "from kubernetes import client, config\nconfig.load_kube_config(context='unlisted')",
    "a loader with a file": (
        "from kubernetes import client, config\nconfig.load_kube_config('/etc/kubernetes/admin.conf', 'unlisted')"
    ),
    "a stand-in's insides": (
        "from kubernetes import client\napi = client.ApiClient()\napi._k8s = k8s.context('open')\n"
        "client.CoreV1Api(api).list_namespaced_secret('home')"
    ),
    "a configuration with a host": (
        "from kubernetes import client\nc = client.Configuration()\nc.host = 'http://127.0.0.1:1'\nc.context = 'open'\n"
        "client.CoreV1Api(client.ApiClient(c)).list_namespaced_secret('home')"
    ),
    "a keyword of the call": "k8s.coreV1().list_namespaced_config_map('home', context='unlisted')",
    "a query": "k8s.coreV1().list_namespaced_config_map('home', label_selector='x&context=unlisted')",
}


@pytest.mark.promise("P-10", "P-11")
@pytest.mark.parametrize("name", SCRIPTS)
def test_no_script_talks_its_way_to_another_context(name: str, honest: Fleet) -> None:
    """Lying names, changed lists, loaders, stand-ins: the unlisted cluster sees nothing, no Secret comes back, and the
    next script works."""
    answer = anyio.run(honest.application.operator.evaluator.evaluate, SCRIPTS[name], 60_000)
    reached = honest.reached()
    assert set(reached) <= {"closed"}, answer
    assert not any("secrets" in line for lines in reached.values() for line in lines)
    assert CANARY not in answer.text
    works = "len(k8s.context('open').coreV1().list_namespaced_secret('home'))"
    assert anyio.run(honest.application.operator.evaluator.evaluate, works, 60_000).text.splitlines()[0] == "1"
    assert list(honest.reached()) == ["open"]


@pytest.mark.promise("P-08")
@pytest.mark.parametrize("name", ["in the kubeconfig, but not listed", "nothing like it"])
def test_the_list_alone_stops_an_attack(name: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Were an unknown name taken for the default one, the tests above would see it."""
    doors = fleet.application.operator.contexts._clusters
    first = fleet.application.operator.contexts.default

    class Lenient(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            return super().get(key, first)

    monkeypatch.setattr(fleet.application.operator.contexts, "_clusters", Lenient(doors))
    answer = fleet.ask(call(NOT_LISTED[name]))
    assert "policy.unknown_context" not in answer.text
    assert fleet.reached() != {}
