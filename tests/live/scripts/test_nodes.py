"""Logs and statistics of nodes, from a script through a real API server to the stand-in of a kubelet, over TLS. The
kubelet is the one part that is not real: it needs a container runtime."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from kubescript_safety.controlplane import kubelets, pki
from tests.kit import clients, paths, trails
from tests.kit.controlplane import rights
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

Ask = Callable[[str], str]
NODE, MUTE = "journal-0", "journal-1"
PAGE: Final = (paths.ROOT / "sdk_docs/dynamic.md").read_text("utf-8").split("```python\n")[3].split("```")[0]
SETTINGS: Final = "[nodes]\nlogs = true\nsummary = true\n"
KEY: Final = pki.Authority().private_key().decode()
SUMMARY: Final = {
    "node": {"nodeName": NODE, "fs": {"availableBytes": 5_000, "capacityBytes": 20_000}},
    "pods": [{"podRef": {"name": "web-0", "namespace": "shop"}, "volume": [{"name": "data", "usedBytes": 7}]}],
}


def journal() -> str:
    """Entries of two services: 600 of three hours ago, a key, and some of the last minutes."""
    now = datetime.now(UTC)
    entries = [(now - timedelta(hours=3), "kubelet", f"synced pod {number}") for number in range(600)]
    entries += [(now - timedelta(minutes=9), "kubelet", line) for line in KEY.splitlines()]
    entries += [
        (now - timedelta(minutes=8), "containerd", "pulled image"),
        (now - timedelta(minutes=7), "kubelet", "login password=hunter2-canary-node"),
        (
            now - timedelta(minutes=6),
            "kubelet",
            'E1127 failed to "StartContainer"\n                                of web-0',
        ),
    ]
    return "".join(f"{when:%b %d %H:%M:%S.%f} {NODE} {service}[1]: {text}\n" for when, service, text in entries)


def node(name: str, address: str, **annotations: str) -> dict[str, Any]:
    """A ready node with an address, which the API server checks before it connects."""
    status = {
        "addresses": [{"type": "InternalIP", "address": address}],
        "conditions": [{"type": "Ready", "status": "True"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "annotations": annotations},
        "status": status,
    }


@pytest.fixture(scope="module")
def kubeconfig(written: ControlPlane) -> Path:
    """That of an account with the least rights: one verb on one subresource."""
    notes = {kubelets.NODE_LOG: journal(), kubelets.NODE_SUMMARY: json.dumps(SUMMARY)}
    rules = [{"apiGroups": [""], "resources": ["nodes/proxy"], "verbs": ["get"], "resourceNames": [NODE, MUTE]}]
    api = "rbac.authorization.k8s.io"
    named = {"apiVersion": f"{api}/v1", "metadata": {"name": "kubelets"}}
    role = {"apiGroup": api, "kind": "ClusterRole", "name": "kubelets"}
    subject = {"apiGroup": api, "kind": "User", "name": "kubelet-reader"}
    Writer(written.kubeconfig).create_all(
        [
            [
                node(NODE, "10.20.30.40", **notes),
                node(MUTE, "10.20.30.41"),
                {**named, "kind": "ClusterRole", "rules": rules},
                {**named, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": [subject]},
            ]
        ]
    )
    rights.wait(written.kubeconfig, "kubelet-reader", "get", "nodes", subresource="proxy", name=NODE)
    return written.kubeconfig_for("kubelet-reader")


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The audit record."""
    return tmp_path_factory.mktemp("record") / "audit.jsonl"


@pytest.fixture(scope="module")
def ask(kubeconfig: Path, record: Path) -> Iterator[Ask]:
    """Runs a script where nodes may be read; gives the answer's text."""
    settings = record.with_name("kubescript.toml")
    settings.write_text(SETTINGS)
    flags = ("--kubeconfig", str(kubeconfig), "--config", str(settings), "--audit", str(record))
    with clients.asking(*flags) as ask:
        yield lambda script: clients.text(ask(textwrap.dedent(script)))


def test_logs_of_a_service(ask: Ask) -> None:
    """The last lines of a service's log come whole, masked, and with their times."""
    assert ask(f"len(k8s.node_logs('{NODE}').splitlines())") == "200"
    last = ask(f"k8s.node_logs('{NODE}', tail=3)")
    assert (
        "login password=«redacted:password:" in last and last.endswith("of web-0\n") and f" {NODE} kubelet[1]: " in last
    )
    assert "canary" not in last
    assert ask(f"k8s.node_logs('{NODE}', 'containerd').count('pulled image')") == "1"
    assert ask(f"k8s.node_logs('{NODE}', query='crio')") in {"", '""'}


def test_the_lines_of_the_page_run(ask: Ask) -> None:
    """Each of them, for a node that there is."""
    lines = PAGE.replace("node-0", NODE).splitlines()
    assert len(lines) == 3
    for line in lines:
        assert "line 1" not in ask(line), line  # an error names it
    assert ask(lines[2]) == "5000"


def test_lines_are_chosen(ask: Ask) -> None:
    """`since` and `pattern` choose lines, of which the last are returned; a line without a time goes with its entry."""
    count = f"len(k8s.node_logs('{NODE}', {{}}).splitlines())"
    recent = int(ask(count.format("since='1h'")))
    assert 3 <= recent < 20
    moment = "datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1)"
    for since in ("3600", "datetime.timedelta(hours=1)", moment):
        assert ask("import datetime\n" + count.format(f"since={since}")) == str(recent), since
    assert ask(count.format("since='4h', tail=5")) == "5"
    assert ask(f"k8s.node_logs('{NODE}', pattern='synced pod 59[89]$').count('synced')") == "2"
    assert ask(f"k8s.node_logs('{NODE}', since='7m', pattern='of web').strip()") == "of web-0"


def test_no_choice_of_lines_shows_a_key(ask: Ask) -> None:
    """A private key is masked wherever the requested lines begin."""
    body = KEY.splitlines()[1:-1]
    choices = [*(f"tail={tail}" for tail in range(3, 8)), "pattern='[A-Za-z0-9+/]{60}'", "since='9m'"]
    for choice in choices:
        shown = ask(f"k8s.node_logs('{NODE}', {choice})")
        assert not any(line in shown for line in body), choice


def test_statistics(ask: Ask) -> None:
    """The summary reads as an object, by the name of a node or the Node."""
    assert ask(f"k8s.node_summary('{NODE}').node.fs.availableBytes") == "5000"
    assert ask(f"k8s.node_summary('{NODE}')['pods'][0]['podRef']['name']") == "web-0"
    made = f"kubernetes.client.V1Node(metadata=kubernetes.client.V1ObjectMeta(name='{NODE}'))"
    assert ask(f"import kubernetes\nk8s.node_summary({made}).node.nodeName") == NODE


REFUSED: Final = {
    f"k8s.node_logs('{NODE}', '/var/log/syslog')": "files cannot be read",
    f"k8s.node_logs('{NODE}', 'pods/a/b/0.log')": "files cannot be read",
    f"k8s.node_logs('{NODE}', tail=0)": "tail is a number of lines from 1 to 10000",
    f"k8s.node_logs('{NODE}', tail='many')": "tail is a number of lines",
    f"k8s.node_logs('{NODE}:9999')": "is not the name of a node",
    f"k8s.node_logs('{NODE}/../{MUTE}')": "is not the name of a node",
    f"k8s.node_summary('{NODE}%2f..')": "is not the name of a node",
    f"k8s.node_logs('{NODE}', pattern='(')": "(",
    f"k8s.node_logs('{MUTE}')": "answers no queries of logs (enableSystemLogQuery)",
    f"k8s.node_summary('{MUTE}')": "404",
    "k8s.node_summary('node-a1')": "403",
    f"k8s.get('/api/v1/nodes/{NODE}/proxy/stats/summary')": "proxy is never available; call k8s.node_logs(node) or",
    f"k8s.get('/api/v1/nodes/{NODE}/proxy/logs/syslog')": "proxy is never available",
    f"k8s.coreV1().connect_get_node_proxy_with_path('{NODE}', 'run/shop/web-0/web')": "proxy is never available",
    f"k8s.coreV1().connect_delete_node_proxy_with_path('{NODE}', 'logs/')": "proxy is never available",
}


@pytest.mark.parametrize("script", REFUSED)
def test_all_else_is_refused(ask: Ask, script: str) -> None:
    """What is no log of a service and no statistics is refused with a reason, and the next read works."""
    assert REFUSED[script] in ask(script)
    assert ask(f"k8s.node_summary('{NODE}').node.nodeName") == NODE


def test_reads_are_on_record(ask: Ask, record: Path) -> None:
    """A read is recorded as a call, and `audit role` grants the one right that it needs."""
    assert ask(f"k8s.node_summary('{NODE}').node.nodeName") == NODE
    calls = [json.loads(line) for line in record.read_text().splitlines() if '"proxy"' in line]
    allowed = [each for each in calls if each["decision"] == "allow"]
    assert {(each["verb"], each["resource"], each["subresource"]) for each in allowed} == {("get", "nodes", "proxy")}
    role = trails.run("audit", "role", str(record)).stdout
    assert "nodes/proxy" in role and NODE in role


def test_nothing_is_read_without_the_settings(written: ControlPlane, ask: Ask) -> None:
    """Both reads are off until the operator permits them, and the refusal names the setting."""
    assert ask(f"k8s.node_summary('{NODE}').node.nodeName") == NODE
    with clients.asking("--kubeconfig", str(written.kubeconfig)) as bare:
        assert "the operator can set logs = true in [nodes]" in clients.text(bare(f"k8s.node_logs('{NODE}')"))
        assert "the operator can set summary = true in [nodes]" in clients.text(bare(f"k8s.node_summary('{NODE}')"))
        assert clients.text(bare(f"k8s.get('nodes', '{NODE}').metadata.name")) == NODE
