"""The documents of the second held-out part."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from security_tests.redaction import makers_by_kind, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import forms, sections
from security_tests.redaction.notation import Writer
from security_tests.redaction.sheet import Document, Sheet

__all__ = ["documents"]

_REPEATS: Final = 2
_TOGETHER: Final = 7


def documents() -> Iterator[Document]:
    """Every form twice, with other values."""
    for repeat in range(_REPEATS):
        yield _pods(f"second environments {repeat}")
        yield _commands(f"second commands {repeat}")
        for at, some in _groups(forms("second_files")):
            yield _files(f"second files {repeat}.{at}", some)
        yield _things(f"second specs {repeat}", forms("second_specs"))
        yield _things(f"second plain specs {repeat}", forms("second_plain_specs"), whole=True)
        yield _annotated(f"second annotations {repeat}")
        yield _events(f"second events {repeat}")
        yield _conditions(f"second conditions {repeat}")
        for at, some in _groups(forms("second_logs")):
            yield _log(f"second log {repeat}.{at}", some)
        yield _plain_log(f"second plain log {repeat}")
        for at, some in _groups(forms("second_plain_files")):
            yield _plain_files(f"second plain files {repeat}.{at}", some)


def _groups(cases: dict[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    names = list(cases)
    for at in range(0, len(names), _TOGETHER):
        yield at, {name: cases[name] for name in names[at : at + _TOGETHER]}


def _open(name: str) -> tuple[Sheet, Writer]:
    sheet = Sheet(Chance(name))
    return sheet, Writer(sheet, makers_by_kind.made)


def _list(sheet: Sheet, name: str, kind: str, path: str, items: list[Any]) -> Document:
    body = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, path, body, held_out=True)


def _pods(name: str) -> Document:
    """A pod for every application."""
    sheet, writer = _open(name)
    items = []
    for app, lines in sections("second_environments").items():
        env = []
        for line in lines.split("\n"):
            key, _, form = line.removeprefix("~").partition("=")
            value = writer.text(key, "env", form, whole=line.startswith("~"))
            env.append({"name": key, "value": value})
        items.append(_pod(sheet, app, {"env": env}))
    return _list(sheet, name, "Pod", "api/v1/namespaces/shop/pods", items)


def _commands(name: str) -> Document:
    sheet, writer = _open(name)
    items = [
        _pod(sheet, case, {"args": writer.tree(case, "arguments", form)})
        for case, form in forms("second_commands").items()
    ]
    return _list(sheet, name, "Pod", "api/v1/namespaces/shop/pods", items)


def _pod(sheet: Sheet, name: str, container: dict[str, Any]) -> dict[str, Any]:
    own = "-".join("".join(c if c.isalnum() else " " for c in name).lower().split())
    image = sheet.keep("image digest", f"registry.example.com/{own}@sha256:{sheet.chance.hex(64)}")
    spec = {"containers": [{"name": own, "image": image, **container}]}
    return {"metadata": scenery.meta(sheet, f"{own}-{sheet.chance.suffix()}"), "spec": spec}


def _files(name: str, cases: dict[str, str]) -> Document:
    """A ConfigMap for every file, as charts make them."""
    sheet, writer = _open(name)
    items = []
    for heading, form in cases.items():
        case, _, key = heading.partition(" | ")
        data = {key or case: writer.text(case, "ConfigMap file", form)}
        items.append({"metadata": scenery.meta(sheet, f"cm-{sheet.chance.suffix()}"), "data": data})
    return _list(sheet, name, "ConfigMap", "api/v1/namespaces/shop/configmaps", items)


def _things(name: str, cases: dict[str, Any], whole: bool = False) -> Document:
    sheet, writer = _open(name)
    items = [
        {
            "metadata": scenery.meta(sheet, f"thing-{sheet.chance.suffix()}"),
            "spec": writer.tree(case, "custom resource", form, whole),
        }
        for case, form in cases.items()
    ]
    return _list(sheet, name, "Thing", "apis/acme.io/v1/namespaces/shop/things", items)


def _annotated(name: str) -> Document:
    sheet, writer = _open(name)
    items = []
    for heading, form in forms("second_annotations").items():
        case, _, key = heading.partition(" | ")
        own = f"web-{sheet.chance.suffix()}"
        annotations = {key: writer.text(case, "annotation", form)}
        items.append({"metadata": scenery.meta(sheet, own, annotations=annotations)})
    return _list(sheet, name, "Ingress", "apis/networking.k8s.io/v1/namespaces/shop/ingresses", items)


def _events(name: str) -> Document:
    sheet, writer = _open(name)
    items = [
        {
            "metadata": scenery.meta(sheet, f"web-0.{sheet.chance.hex(16)}"),
            "type": "Warning",
            "reason": "Failed",
            "message": writer.text(case, "event", form),
        }
        for case, form in forms("second_messages").items()
    ]
    return _list(sheet, name, "Event", "api/v1/namespaces/shop/events", items)


def _conditions(name: str) -> Document:
    """The same messages where operators put them."""
    sheet, writer = _open(name)
    items = [
        {
            "metadata": scenery.meta(sheet, f"release-{sheet.chance.suffix()}"),
            "status": {"conditions": [{"type": "Ready", "message": writer.text(case, "condition", form)}]},
        }
        for case, form in forms("second_messages").items()
    ]
    return _list(sheet, name, "Release", "apis/acme.io/v1/namespaces/shop/releases", items)


def _log(name: str, cases: dict[str, str]) -> Document:
    sheet, writer = _open(name)
    body = "\n".join(writer.text(case, "log", form) for case, form in cases.items()) + "\n"
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text", held_out=True)


def _plain_log(name: str) -> Document:
    sheet, writer = _open(name)
    lines = [
        writer.text(" ".join(line.split()[:3]), "plain log", line, whole=True) for line in forms("second_plain_logs")
    ]
    body = "\n".join(lines) + "\n"
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text", held_out=True)


def _plain_files(name: str, cases: dict[str, str]) -> Document:
    """Files without a secret: every line is a look-alike of its own."""
    sheet, writer = _open(name)
    items = []
    for case, form in cases.items():
        text = writer.lines(case, "plain file", form)
        items.append({"metadata": scenery.meta(sheet, f"cm-{sheet.chance.suffix()}"), "data": {case: text}})
    return _list(sheet, name, "ConfigMap", "api/v1/namespaces/shop/configmaps", items)
