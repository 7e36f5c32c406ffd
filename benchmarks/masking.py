"""What redaction costs: the engine over 18 MB of pods, half of which have something to mask, and over what clusters log and
hold; and a script over 5,000 pods with redaction and without, in turns."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from benchmarks import clusters, ordinary, pods_5000, report, servers, stdio
from kubescript_masking.engine import bodies, completeness, warmup
from kubescript_masking.wire import masking
from tests.kit.controlplane import bulk

__all__ = ["run", "run_short"]

MEGABYTES = 18
ORDINARY = 4_000_000
"""Bytes of each ordinary text: more are the same again."""
PIECE = 64 * 1024
"""Bytes of a chunk, as the live cluster reads them."""
ROUNDS = 7
SHORT_ROUNDS = 3
SCRIPTS = 9
_ABOUT = masking.Body(form="list")
_NOTE = "kubectl.kubernetes.io/last-applied-configuration"


def run() -> Iterator[report.Row | str]:
    """The rows of this benchmark."""
    yield from _engine()
    yield from _ordinary(ROUNDS)
    yield from _script()


def run_short() -> Iterator[report.Row | str]:
    """The rows of ordinary texts, from fewer rounds."""
    yield from _ordinary(SHORT_ROUNDS)


def _engine() -> Iterator[report.Row | str]:
    body, planted = _pods()
    # The rules run in this process, whose processor time is measured; a server runs them in others.
    rules = bodies.Rules(masking.Settings(key=bytes(32)))
    warmup.rehearse(rules)
    chunks = [body[start : start + PIECE] for start in range(0, len(body), PIECE)]
    times: dict[str, list[float]] = {"mask": [], "parse": []}
    for _ in range(ROUNDS):
        found: list[str] = []
        times["mask"].append(_timed(lambda found=found: _mask(rules, _ABOUT, chunks, found)))
        times["parse"].append(_timed(lambda: orjson.loads(body)))
        if len(found) != planted:
            raise RuntimeError(f"masked {len(found)} values of {planted}")
    mask, parse = report.median(times["mask"]), report.median(times["parse"])
    what = f"{len(body) / 1e6:.0f} MB of pods, {planted:,} secrets"
    yield report.Row(what, "ms", mask * 1000, parse * 1000, "orjson.loads of it", "value_at_most", 120)


def _ordinary(rounds: int) -> Iterator[report.Row | str]:
    """What is not secret should cost little more than looking for it."""
    rules = bodies.Rules(masking.Settings(key=bytes(32)))
    warmup.rehearse(rules)
    texts = [(f"logs of {name}", ordinary.logged(name, ORDINARY), masking.Body(form="log")) for name in ordinary.LOGS]
    texts += [(name, ordinary.listed(name, ORDINARY), _ABOUT) for name in ordinary.LISTS]
    for name, text, about in texts:
        found: list[str] = []
        mask, scan = _compare(rules, about, text, found, rounds)
        if found:
            raise RuntimeError(f"masked {len(found)} values of {name}, of which none is secret")
        per_byte = 1e9 / len(text)
        mine = mask * per_byte
        least = scan * per_byte
        yield report.Row(name, "ns/B", mine, least, "the scan alone", "value_at_most", 15)


def _compare(
    rules: bodies.Rules, about: masking.Body, text: bytes, found: list[str], rounds: int
) -> tuple[float, float]:
    """Seconds to mask a text, and to scan it, in turns."""
    pieces = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
    mask: list[float] = []
    scan: list[float] = []
    for _ in range(rounds):
        mask.append(_timed(lambda: _mask(rules, about, pieces, found)))
        scan.append(_timed(lambda: _scan(rules, pieces)))
    return report.median(mask), report.median(scan)


def _mask(rules: bodies.Rules, about: masking.Body, pieces: list[bytes], found: list[str]) -> bytes:
    check = completeness.Check(about.form)  # which tells where a list may be cut, as it does a masker
    watched = check.watch(iter(pieces))
    masked = rules.body(about, watched, found.append, check)
    return b"".join(masked)


def _scan(rules: bodies.Rules, pieces: list[bytes]) -> int:
    return sum(map(rules.scan, pieces))


def _script() -> Iterator[report.Row | str]:
    """The script of pods_5000, by a server that masks and by one that does not."""
    with clusters.bulk() as kubeconfig, tempfile.TemporaryDirectory() as room:
        off = Path(room) / "off.toml"
        off.write_text("[redaction]\nenabled = false\n", "utf-8")
        with servers.kubescript(kubeconfig) as masking, servers.kubescript(kubeconfig, "--config", str(off)) as plain:
            seconds: dict[stdio.Server, list[float]] = {masking: [], plain: []}
            answers = {stdio.text(_ask(subject)) for subject in seconds}
            if len(answers) != 1:
                raise RuntimeError(f"the answers differ: {answers}")
            for number in range(SCRIPTS):
                for subject in (masking, plain) if number % 2 else (plain, masking):
                    time.sleep(pods_5000.PAUSE)
                    seconds[subject].append(_ask(subject).seconds)
    ours, theirs = report.median(seconds[masking]), report.median(seconds[plain])
    yield report.Row("script over 5,000 pods", "s", ours, theirs, "redaction off", "at_most", 1.15)


def _ask(subject: stdio.Server) -> stdio.Answer:
    return subject.call("evaluate_script", {"script": pods_5000.SCRIPT})


def _pods() -> tuple[bytes, int]:
    """A list as the API server writes it, and how many secrets it holds: two in every other pod."""
    items: list[bytes] = []
    size = planted = 0
    while size < MEGABYTES * 1_000_000:
        pod = bulk.pod(len(items))
        metadata = dict(pod["metadata"], managedFields=_MANAGED, uid="9a1b2c3d-aaaa-4bbb-8ccc-1234567890ab")
        spec = dict(pod["spec"], volumes=[*pod["spec"]["volumes"], _TOKEN_VOLUME], terminationGracePeriodSeconds=30)
        if len(items) % 2:
            secret = {"name": "DB_PASSWORD", "value": f"s3cr3t-{len(items)}"}
            spec["containers"][0]["env"].append(secret)
            note = json.dumps({"kind": "Pod", "spec": {"containers": [{"env": [secret]}]}})
            metadata["annotations"] = dict(metadata["annotations"], **{_NOTE: note})
            planted += 2
        items.append(orjson.dumps({"metadata": metadata, "spec": spec, "status": pod["status"]}))
        size += len(items[-1])
    return b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[' + b",".join(items) + b"]}", planted


_FIELDS: dict[str, Any] = {
    f"f:{name}": {} for name in ("name", "image", "terminationMessagePath", "terminationMessagePolicy", "resources")
}
_MANAGED = [
    {"manager": "kubelet", "operation": "Update", "apiVersion": "v1", "time": "2026-01-05T08:00:00Z", "fieldsType": "FieldsV1",
     "fieldsV1": {"f:spec": {"f:containers": {f'k:{{"name":"{name}"}}': {**_FIELDS, "f:env": {
         f'k:{{"name":"SETTING_{place}"}}': {".": {}, "f:name": {}, "f:value": {}} for place in range(3)}}
         for name in bulk.CONTAINERS}, "f:terminationGracePeriodSeconds": {}}}}
]  # fmt: skip
_TOKEN_VOLUME = {
    "name": "kube-api-access-x7k2p",
    "projected": {"sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}}]},
}


def _timed(work: Any) -> float:
    """Processor seconds: nothing in it waits, and other work on the machine is not its cost."""
    started = time.process_time()
    work()
    return time.process_time() - started
