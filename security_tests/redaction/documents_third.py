"""A third held-out part, by a platform engineer's memory of incident channels; written without a look at the rules.

How it is labelled. Secret is what an attacker could use as it stands: a weak password or a PIN as well as a key. Password hashes
and famous defaults (`changeme`, `postgres`) may be masked or not. References, names and keys of Secrets, templates, public keys,
ciphertext that is made to be published, stars, and blanks to fill in are no secrets and must survive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

import yaml

from security_tests.redaction import makers_third, plain_objects, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import sections
from security_tests.redaction.notation import Writer
from security_tests.redaction.sheet import Document, Sheet

__all__ = ["documents"]

_TOGETHER: Final = 9
T = TypeVar("T")


def documents() -> Iterator[Document]:
    """Every form once."""
    yield _environments("environment", sections("third_workloads"))
    yield _environments("vendor environment", sections("third_vendors"))
    yield _plain_environment()
    yield _commands()
    yield _probes()
    for spot, files in (
        ("server file", sections("third_configs") | sections("third_monitoring")),
        ("credential file", sections("third_credentials")),
        ("code and script", sections("third_code")),
    ):
        for at, some in _groups(files):
            yield _files(f"third {spot} {at}", spot, some)
    for at, some in _groups(sections("third_plain_files") | sections("third_plain_texts")):
        yield _files(f"third plain file {at}", "plain file", some, plain=True)
    yield _resources()
    yield from (_events(), _conditions(), _annotations())
    for spot, lines in (("log", sections("third_logs")), ("HTTP dump", sections("third_requests"))):
        for at, some in _groups(lines):
            yield _log(f"third {spot} {at}", spot, some)
    yield _plain_log()
    for kind in plain_objects.KINDS:
        sheet, _ = _open(f"third {kind}")
        yield _list(sheet, f"third {kind}", kind, plain_objects.KINDS[kind][0], plain_objects.items(sheet, kind))


def _groups(forms: dict[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    for at, some in enumerate(_batches(list(forms.items()), _TOGETHER)):
        yield at, dict(some)


def _batches(things: list[T], size: int) -> Iterator[list[T]]:
    for at in range(0, len(things), size):
        yield things[at : at + size]


def _open(name: str) -> tuple[Sheet, Writer]:
    sheet = Sheet(Chance(name))
    return sheet, Writer(sheet, makers_third.made)


def _list(sheet: Sheet, name: str, kind: str, path: str, items: list[Any]) -> Document:
    body = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, path, body, held_out=True)


def _lines(name: str) -> list[str]:
    """The lines of a file that has one section."""
    return sections(f"third_{name.replace(' ', '_')}")[name].split("\n")


def _own(name: str) -> str:
    return "-".join("".join(c if c.isalnum() and c.isascii() else " " for c in name).lower().split())


def _environments(spot: str, forms: dict[str, str]) -> Document:
    """Every second application is a Deployment."""
    sheet, writer = _open(f"third {spot}")
    items = []
    for number, (app, form) in enumerate(forms.items()):
        env = list(_variables(writer, app, spot, form.split("\n")))
        pod = scenery.pod(sheet, _own(app), {"env": env})
        items.append(scenery.workload(sheet, _own(app), pod["spec"]) if number % 2 else pod)
    return _list(sheet, f"third {spot}", "Pod", "api/v1/namespaces/shop/pods", items)


def _variables(writer: Writer, app: str, spot: str, lines: Iterable[str]) -> Iterator[dict[str, str]]:
    for line in lines:
        name, _, form = line.removeprefix("~").partition("=")
        value = writer.text(f"{app}: {name}", spot, form, whole=line.startswith("~")) if form else ""
        yield {"name": name, "value": value}


def _plain_environment() -> Document:
    sheet, writer = _open("third plain environment")
    items = []
    for number, lines in enumerate(_batches(_lines("plain environment"), 20)):
        env = list(_variables(writer, "plain", "plain environment", [f"~{line}" for line in lines]))
        items.append(scenery.pod(sheet, f"plain-{number}", {"env": env}))
    return _list(sheet, "third plain environment", "Pod", "api/v1/namespaces/shop/pods", items)


def _commands() -> Document:
    sheet, writer = _open("third command")
    items = [
        scenery.pod(sheet, _own(case), {"args": [writer.text(case, "command line", line) for line in form.split("\n")]})
        for case, form in sections("third_commands").items()
    ]
    return _list(sheet, "third command", "Pod", "api/v1/namespaces/shop/pods", items)


def _probes() -> Document:
    sheet, writer = _open("third probe")
    items = [
        scenery.pod(sheet, _own(case), {"livenessProbe": {"exec": {"command": ["sh", "-c", writer.text(case, "probe", form)]}}})
        for case, form in sections("third_probes").items()
    ]  # fmt: skip
    return _list(sheet, "third probe", "Pod", "api/v1/namespaces/shop/pods", items)


def _files(name: str, spot: str, forms: dict[str, str], plain: bool = False) -> Document:
    sheet, writer = _open(name)
    items = []
    for heading, form in forms.items():
        case, _, key = heading.partition(" | ")
        text = writer.lines(case, spot, form) if plain else writer.text(case, spot, form)
        items.append(scenery.configmap(sheet, f"cm-{sheet.chance.suffix()}", {key: text + "\n"}))
    return _list(sheet, name, "ConfigMap", "api/v1/namespaces/shop/configmaps", items)


def _resources() -> Document:
    sheet, writer = _open("third resource")
    items = [
        {"kind": case.split()[0], "metadata": scenery.meta(sheet, f"{_own(case)}-{sheet.chance.suffix()}"), "spec": writer.tree(case, "custom resource", yaml.safe_load(form))}
        for case, form in sections("third_resources").items()
    ]  # fmt: skip
    return _list(sheet, "third resource", "Thing", "apis/acme.io/v1/namespaces/shop/things", items)


def _events() -> Document:
    sheet, writer = _open("third event")
    items = [
        {"metadata": scenery.meta(sheet, f"web-0.{sheet.chance.hex(16)}"), "type": "Warning", "reason": "Failed", "message": writer.text(case, "event", form)}
        for case, form in sections("third_messages").items()
    ]  # fmt: skip
    return _list(sheet, "third event", "Event", "api/v1/namespaces/shop/events", items)


def _conditions() -> Document:
    """The same messages where operators put them."""
    sheet, writer = _open("third condition")
    items = [
        {"metadata": scenery.meta(sheet, f"release-{sheet.chance.suffix()}"), "status": {"conditions": [{"type": "Ready", "status": "False", "message": writer.text(case, "condition", form)}]}}
        for case, form in sections("third_messages").items()
    ]  # fmt: skip
    return _list(sheet, "third condition", "Release", "apis/acme.io/v1/namespaces/shop/releases", items)


def _annotations() -> Document:
    sheet, writer = _open("third annotation")
    items = []
    for heading, form in sections("third_annotations").items():
        case, _, key = heading.partition(" | ")
        annotations = {key: writer.text(case, "annotation", form)}
        items.append({"metadata": scenery.meta(sheet, f"web-{sheet.chance.suffix()}", annotations=annotations)})
    return _list(sheet, "third annotation", "Ingress", "apis/networking.k8s.io/v1/namespaces/shop/ingresses", items)


def _log(name: str, spot: str, forms: dict[str, str]) -> Document:
    sheet, writer = _open(name)
    body = "\n".join(writer.text(case, spot, form) for case, form in forms.items()) + "\n"
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text", held_out=True)


def _plain_log() -> Document:
    sheet, writer = _open("third plain log")
    body = (
        "\n".join(
            writer.text(" ".join(line.split()[:3]), "plain log", line, whole=True) for line in _lines("plain logs")
        )
        + "\n"
    )
    return sheet.finish(
        "third plain log", "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text", held_out=True
    )
