"""A slip in a namespace's name does not look like an empty cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.kit import clients

Ask = Callable[[str], str]
NOTE = "[no such namespace: {}]"


@pytest.fixture(scope="module")
def saved(kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of the broken fixture."""
    out = tmp_path_factory.mktemp("snapshot") / "saved"
    command = [clients.KUBESCRIPT, "snapshot", str(out), "--kubeconfig", str(kubeconfig)]
    subprocess.run(command, check=True, timeout=120, capture_output=True)
    return out


@pytest.fixture(scope="module", params=["live", "saved"])
def ask(request: pytest.FixtureRequest, kubeconfig: Path, saved: Path) -> Iterator[Ask]:
    """Asks a server of the broken fixture, or of its snapshot."""
    flags = ("--kubeconfig", str(kubeconfig)) if request.param == "live" else ("--snapshot", str(saved))
    with clients.asking(*flags, "--log-level", "error") as asked:
        yield lambda script: clients.whole(asked(script))


SLIPS = {
    "a slip": ("len(k8s.coreV1().list_namespaced_pod('shpo'))", "0\n" + NOTE.format("shpo")),
    "with a selector": ("k8s.get('deployments', namespace='paymets', label_selector='a=b')", "[]\n" + NOTE.format("paymets")),
    "beside a right one": ("[len(k8s.coreV1().list_namespaced_service(n)) > 0 for n in ('shop', 'shpo')]", "[true,false]\n" + NOTE.format("shpo")),
    "several at a time": (
        "k8s.parallel([(k8s.coreV1().list_namespaced_pod, n) for n in ('nope-1', 'nope-2')])",
        "[[],[]]\n" + NOTE.format("nope-1, nope-2"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SLIPS)
def test_a_namespace_that_is_not_there_is_named(name: str, ask: Ask) -> None:
    """The answer says that the list was empty because nothing of that name exists."""
    script, answer = SLIPS[name]
    assert ask(script) == answer


@pytest.mark.parametrize(
    "script",
    [
        "len(k8s.batchV1().list_namespaced_cron_job('default'))",  # empty, and there
        "[len(k8s.coreV1().list_namespaced_pod(n, label_selector='a=b')) for n in ('shop', 'payments')][0]",
        "len(k8s.coreV1().list_namespaced_pod('shop', field_selector='metadata.name=none'))",
        "len(k8s.coreV1().list_pod_for_all_namespaces(label_selector='a=b'))",
    ],
)
def test_an_empty_namespace_is_no_slip(script: str, ask: Ask) -> None:
    """Nothing is noted of what is there and has nothing to show."""
    assert ask(script) == "0"


def test_more_than_three_are_not_asked_for(ask: Ask) -> None:
    """A script that invents namespaces costs the API server three calls, not a thousand."""
    told = ask("[len(k8s.coreV1().list_namespaced_pod(f'invented-{n}')) for n in range(20)][0]")
    assert "[<1>: invented-0; <2>: invented-1; <3>: invented-2]\n[end" in told  # no words of the script's
    assert told.endswith(NOTE.format("<1>, <2>, <3>"))


def test_the_question_is_under_the_policy_and_on_record(kubeconfig: Path, tmp_path: Path) -> None:
    """It is refused like a call of the script's where namespaces are denied; the answer then says what is not known."""
    (tmp_path / "closed.toml").write_text('[[denied_resources]]\nversion = "v1"\nkind = "Namespace"\n')
    script = "len(k8s.coreV1().list_namespaced_pod('shpo'))"
    told = []
    for name in ("open", "closed"):
        record = tmp_path / f"{name}.jsonl"
        flags = ["--kubeconfig", str(kubeconfig), "--audit", str(record), "--log-level", "error"]
        with clients.asking(
            *flags, *(["--config", str(tmp_path / "closed.toml")] if name == "closed" else [])
        ) as asked:
            answer = clients.whole(asked(script))
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        told.append(
            (answer, [(line["verb"], line["decision"]) for line in lines if line.get("resource") == "namespaces"])
        )
    assert told == [
        ("0\n" + NOTE.format("shpo"), [("get", "allow")]),
        ("0\n[empty, or no such namespace: shpo]", [("get", "deny")]),
    ]
