"""Secrets that come in a form of their own: credential files, headers, command lines, keys, states."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from security_tests.redaction import kinds, makers_by_kind, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import forms
from security_tests.redaction.notation import IN_ORDER, Writer
from security_tests.redaction.sheet import LAST_APPLIED, Document, Sheet, compact

__all__ = ["Cases", "configmap", "log", "opened", "spec"]

_REPEATS: Final = 3
_TOGETHER: Final = 6
Cases = list[tuple[str, Any]]
"""Forms with a secret, each with the name of its case."""


def opened(name: str) -> tuple[Sheet, Writer]:
    """A new document, and what writes its texts."""
    sheet = Sheet(Chance(name))
    return sheet, Writer(sheet, makers_by_kind.made, IN_ORDER)


def configmap(name: str, cases: Cases) -> Document:
    """These files in one ConfigMap; the word after | is the key."""
    sheet, writer = opened(name)
    data = {}
    for number, (heading, form) in enumerate(cases):
        case, _, key = heading.partition(" | ")
        data[f"{number}-{key}"] = writer.text(case, "ConfigMap file", form)
    return sheet.finish(name, "api/v1/namespaces/shop/configmaps/files", scenery.configmap(sheet, "files", data))


def log(name: str, cases: Cases) -> Document:
    """These lines in one log."""
    sheet, writer = opened(name)
    lines = []
    for case, form in cases:
        lines.append(sheet.keep("plain log line", f"level=info seq={sheet.chance.digits(9)} msg=ok"))
        lines.append(writer.text(case, "log", form))
    body = "\n".join(lines) + "\n"
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text")


def command(name: str, cases: Cases) -> Document:
    """Pods, each with one of these commands."""
    sheet, writer = opened(name)
    items = [
        scenery.pod(sheet, f"cmd{number}", {"args": writer.tree(case, "arguments", form)})
        for number, (case, form) in enumerate(cases)
    ]
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, "api/v1/namespaces/shop/pods", body)


def spec(name: str, cases: Cases) -> Document:
    """Custom resources, each with one of these specs; every second one also in last-applied."""
    sheet, writer = opened(name)
    items = []
    for number, (case, form) in enumerate(cases):
        content = writer.tree(case, "custom resource spec", form)
        notes = {LAST_APPLIED: sheet.json({"kind": "Thing", "spec": content}, compact)} if number % 2 else {}
        items.append(
            {
                "apiVersion": "acme.io/v1",
                "kind": "Thing",
                "metadata": scenery.meta(sheet, f"thing-{number}", annotations=notes),
                "spec": content,
            }
        )
    body = {"kind": "ThingList", "apiVersion": "acme.io/v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, "apis/acme.io/v1/namespaces/shop/things", body)


def documents() -> Iterator[Document]:
    """Each case several times, with other values and other neighbours."""
    for repeat in range(_REPEATS):
        for write, file in (
            (configmap, "main_files"),
            (log, "main_logs"),
            (command, "main_commands"),
            (spec, "main_specs"),
        ):
            cases = list(forms(file).items())
            turned = cases[repeat * 2 :] + cases[: repeat * 2]
            for at in range(0, len(turned), _TOGETHER):
                yield write(f"{write.__name__} files {repeat}.{at}", turned[at : at + _TOGETHER])
    yield from _keys()


def _keys() -> Iterator[Document]:
    """Private keys: in files, escaped in JSON, in base64, in logs."""
    forms: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("file", lambda key: key + "\n"),
        ("YAML block", lambda key: "tls:\n  key: |\n" + "".join(f"    {line}\n" for line in key.split("\n"))),
        ("JSON string", lambda key: json.dumps({"cert": "none", "key": key + "\n"})),
        ("base64", lambda key: _base64(key + "\n")),
        ("one line", lambda key: "key=" + key.replace("\n", "\\n")),
    )
    for kind in kinds.PEMS:
        sheet = Sheet(Chance(f"keys/{kind.name}"))
        data = {
            f"file-{number}.txt": write(sheet.secret(kind.name, f"key as {spot}", kind.make(sheet.chance)))
            for number, (spot, write) in enumerate(forms)
        }
        body = scenery.configmap(sheet, "keys", data)
        yield sheet.finish(f"keys {kind.name}", "api/v1/namespaces/shop/configmaps/keys", body)
        sheet = Sheet(Chance(f"keylog/{kind.name}"))
        lines = [
            sheet.keep("plain log line", "loading key"),
            sheet.secret(kind.name, "key in log", kind.make(sheet.chance)),
            sheet.keep("plain log line", "done, listening on :8443"),
        ]
        yield sheet.finish(
            f"key log {kind.name}",
            "api/v1/namespaces/shop/pods/web-0/log",
            "\n".join(lines) + "\n",
            "text",
            accept="text",
        )


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
