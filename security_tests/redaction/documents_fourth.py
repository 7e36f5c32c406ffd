"""A fourth held-out part, by an on-call engineer of a company with a mixed estate; written without a look at the rules.

How it was sampled. The estate: Spring and PHP and .NET services of twelve years beside Go, Python, Ruby and Elixir ones; vendors' charts
(databases, brokers, Keycloak, Grafana, Airflow, GitLab runners, registries); home-made operators; data pipelines; ML services.
We walked through it as an audit does: every namespace's pods first (env, args, commands, probes), then its ConfigMaps, its
custom resources and annotations, its events, its logs. Each place got what an audit finds in it, in about that proportion: three quarters
of the secrets are in ordinary places (env of charts, connection strings, application files, logs of frameworks). A quarter is in
unusual ones, and its headings say so: `| unusual`. No notation was looked for because it is hard to find. Of the look-alikes,
1,112 are lines of the texts in `corpora/fourth_*.txt` (297 of them, `fourth_plain_estate*.txt`, came after the first measurement); the rest
is what an API server writes round them (`scenery.py`).

How it is labelled. As the third part: secret is what an attacker could use as it stands. Password hashes, famous defaults, ids that go
with a key (access key ids, Sentry's public key) may be masked or not. Of everything else, a line or value that names a word of
credentials, an address or a long run of letters counts as a look-alike; the rest is judged with the other values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import yaml

from security_tests.redaction import datafiles, makers_fourth, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.notation import Writer
from security_tests.redaction.sheet import Document, Sheet

__all__ = ["documents", "sampled"]

_LABELLED: Final = re.compile(r"<%[a-z]|<~|<#|<\w+\{|\}\w+>")
_TEMPTING: Final = re.compile(
    r"(?i)pass|pwd|token|secret|key|auth|cred|cert|sign|salt|hash|sha\d|md5|checksum|digest|uuid|_id|user|login|session|cookie|licen[cs]e"
    r"|://|@|<=|\$\{|[0-9a-f]{12}|[\w+/-]{20}|version|ttl|image"
)
"""What makes a line without a secret a look-alike: a word of credentials, an address, a long run."""
Object = dict[str, Any]
Body = Callable[["_Case", str], tuple[str, Any, str]]


class _Case:
    """One section and what writes it."""

    def __init__(self, spot: str, heading: str) -> None:
        self.name, _, rare = (part.strip() for part in heading.partition("|"))
        self.sheet = Sheet(Chance(f"fourth: {spot}: {self.name}"))
        self.spot = f"{spot}, unusual" if rare else spot
        self._writer = Writer(self.sheet, makers_fourth.made)

    def text(self, form: str, kind: str = "") -> str:
        """A text; its tempting lines without a label are look-alikes."""
        if self.spot.startswith("plain"):
            return "\n".join(
                self._writer.text(self.name, self.spot, line, whole=_tempting(line)) for line in form.split("\n")
            )
        return self._writer.text(kind or self.name, self.spot, "\n".join(map(_marked, form.split("\n"))))

    def tree(self, form: Any) -> Any:
        """The same for every text of an object."""
        if isinstance(form, dict):
            return {key: self.tree(value) for key, value in form.items()}
        if isinstance(form, list):
            return [self.tree(value) for value in form]
        return self.text(form) if isinstance(form, str) and form else form


def documents() -> Iterator[Document]:
    """Every one of the part."""
    for name, spot, write in _PLACES:
        for heading, form in datafiles.sections(f"fourth_{name}").items():
            case = _Case(spot, heading)
            path, body, how = write(case, form)
            yield case.sheet.finish(f"fourth: {spot}: {case.name}", path, body, how, held_out=True)


def sampled(part: str) -> Iterator[Document]:
    """Every document of a part that was sampled in the same way: a folder of files, each called by its place."""
    for file in datafiles.names(part):
        place = next(place for place in _BY_LENGTH if file.startswith(place))
        spot, write = _SAMPLED[place]
        for heading, form in datafiles.sections(f"{part}/{file}").items():
            case = _Case(spot, heading)
            path, body, how = write(case, form)
            yield case.sheet.finish(f"{part}: {file}: {case.name}", path, body, how, held_out=True)


def _tempting(line: str) -> bool:
    return not _LABELLED.search(line) and _TEMPTING.search(line) is not None


def _marked(line: str) -> str:
    bare = line.strip()
    return line.replace(bare, f"<#{bare}#>", 1) if _tempting(bare) else line


def _pod(case: _Case, form: str) -> tuple[str, Any, str]:
    """Lines: NAME=value, `> argument`, `$ command of a shell`, `? probe`, `@ annotation: value`."""
    container: Object = {"env": []}
    annotations = {}
    for line in filter(None, form.split("\n")):
        mark, rest = line[0], line[2:]
        if mark == ">":
            container.setdefault("args", []).append(case.text(rest, f"argument {rest.split('=')[0].split()[0]}"))
        elif mark == "$":
            container["command"] = ["/bin/sh", "-c", case.text(rest, f"command {rest.split()[0]}: {case.name}")]
        elif mark == "?":
            container["livenessProbe"] = {
                "exec": {"command": ["sh", "-c", case.text(rest, f"probe: {case.name}")]},
                "periodSeconds": 10,
            }
        elif mark == "@":
            name, _, value = rest.partition(": ")
            annotations[name] = case.text(value, f"annotation {name}")
        else:
            name, _, value = line.partition("=")
            container["env"].append({"name": name, "value": case.text(value, f"env {name}")})
    name = re.sub(r"[^a-z0-9]+", "-", case.name.lower()).strip("-")
    return "/api/v1/namespaces/shop/pods/x", scenery.pod(case.sheet, name, container, **annotations), "json"


def _file(case: _Case, form: str) -> tuple[str, Any, str]:
    """A ConfigMap with one file; its first line may be `file: name`."""
    name, text = case.name, form
    if form.startswith("file: "):
        name, _, text = form[6:].partition("\n")
    return (
        "/api/v1/namespaces/shop/configmaps/x",
        scenery.configmap(case.sheet, "app-config", {name: case.text(text)}),
        "json",
    )


def _object(case: _Case, form: str) -> tuple[str, Any, str]:
    """An object in YAML; its metadata completed as an API server does."""
    written = yaml.safe_load(form)
    name = written["metadata"].pop("name")
    group, kind = written.pop("apiVersion"), written.pop("kind")
    body = {"apiVersion": group, "kind": kind, **case.tree(written)}
    body["metadata"] = scenery.meta(case.sheet, name) | body["metadata"]
    return f"/{'apis' if '/' in group else 'api'}/{group}/namespaces/shop/{kind.lower()}s/x", body, "json"


def _log(case: _Case, form: str) -> tuple[str, Any, str]:
    return "/api/v1/namespaces/shop/pods/x/log", case.text(form) + "\n", "text"


def _events(case: _Case, form: str) -> tuple[str, Any, str]:
    """A list of events; lines: `reason: message`."""
    items = []
    for line in filter(None, form.split("\n")):
        reason, _, message = line.partition(": ")
        text = case.text(message, f"{case.name}: {reason}")
        items.append(
            {
                "metadata": scenery.meta(case.sheet, f"web.{case.sheet.chance.hex(16)}"),
                "reason": reason,
                "message": text,
                "type": "Warning",
            }
        )
    return "/api/v1/namespaces/shop/events", {"apiVersion": "v1", "kind": "EventList", "items": items}, "json"


_PLACES: Final[tuple[tuple[str, str, Body], ...]] = (
    ("environment", "env", _pod),
    ("commands", "commands", _pod),
    ("vendors", "env of charts", _pod),
    ("plain_environment", "plain env", _pod),
    ("files_java", "files", _file),
    ("files_web", "files", _file),
    ("files_infrastructure", "files", _file),
    ("files_operations", "files", _file),
    ("files_data", "files", _file),
    ("plain_files", "plain files", _file),
    ("plain_programs", "plain files", _file),
    ("objects", "objects", _object),
    ("objects_unusual", "objects", _object),
    ("plain_objects", "plain objects", _object),
    ("logs", "logs", _log),
    ("plain_logs", "plain logs", _log),
    ("messages", "events", _events),
    ("plain_estate", "plain files of the estate", _file),
    ("plain_estate_programs", "plain files of the estate", _file),
    ("plain_estate_logs", "plain logs of the estate", _log),
)
"""The data file, the place that its texts stand in, and what writes them there."""
_SAMPLED: Final[dict[str, tuple[str, Body]]] = {
    "environment": ("env", _pod),
    "commands": ("commands", _pod),
    "files": ("files", _file),
    "objects": ("objects", _object),
    "logs": ("logs", _log),
    "events": ("events", _events),
    "plain_environment": ("plain env", _pod),
    "plain_files": ("plain files", _file),
    "plain_objects": ("plain objects", _object),
    "plain_logs": ("plain logs", _log),
}
"""By the beginning of a file's name: the place that its texts stand in, and what writes them there."""
_BY_LENGTH: Final = sorted(_SAMPLED, key=len, reverse=True)
