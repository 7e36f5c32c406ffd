"""The documents of the part that goes by grammars: notations, command lines, languages, environments, messages."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, Final

from security_tests.redaction import makers_by_kind, scenery
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import forms, sections
from security_tests.redaction.notation import Writer
from security_tests.redaction.sheet import Document, Sheet

__all__ = ["documents"]

_REPEATS: Final = 2
_TOGETHER: Final = 6


def documents() -> Iterator[Document]:
    """Every form twice, with other values."""
    for repeat in range(_REPEATS):
        yield _environments(f"grammar environments {repeat}")
        for at, some in _groups(forms("grammar_commands")):
            yield _arguments(f"grammar arguments {repeat}.{at}", some)
        yield _scripts(f"grammar scripts {repeat}")
        for at, some in _groups(forms("grammar_files")):
            yield _files(f"grammar files {repeat}.{at}", some)
        for at, some in _groups(forms("grammar_statements")):
            yield _statements(f"grammar statements {repeat}.{at}", some)
        yield _events(f"grammar events {repeat}")
        for at, some in _groups(forms("grammar_logs")):
            yield _log(f"grammar log {repeat}.{at}", some)
        yield _plain_arguments(f"grammar plain arguments {repeat}")
        yield _plain_texts(f"grammar plain texts {repeat}")
        yield _plain_log(f"grammar plain log {repeat}")


def _groups(cases: dict[str, str]) -> Iterator[tuple[int, dict[str, str]]]:
    names = list(cases)
    for at in range(0, len(names), _TOGETHER):
        yield at, {name: cases[name] for name in names[at : at + _TOGETHER]}


def _open(name: str) -> tuple[Sheet, Writer]:
    sheet = Sheet(Chance(name))
    return sheet, Writer(sheet, makers_by_kind.made)


def _list(sheet: Sheet, name: str, kind: str, path: str, items: list[Any]) -> Document:
    body = {"kind": f"{kind}List", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, path, body)


def _pods(sheet: Sheet, name: str, containers: list[dict[str, Any]]) -> Document:
    items = [
        {
            "metadata": scenery.meta(sheet, f"web-{sheet.chance.suffix()}"),
            "spec": {"containers": [{"name": "web", "image": "registry.example.com/web:v1", **container}]},
        }
        for container in containers
    ]
    return _list(sheet, name, "Pod", "api/v1/namespaces/shop/pods", items)


def _configmaps(sheet: Sheet, name: str, texts: dict[str, str]) -> Document:
    items = [
        {"metadata": scenery.meta(sheet, f"cm-{sheet.chance.suffix()}"), "data": {key: text}}
        for key, text in texts.items()
    ]
    return _list(sheet, name, "ConfigMap", "api/v1/namespaces/shop/configmaps", items)


def _environments(name: str) -> Document:
    sheet, writer = _open(name)
    containers = []
    for text in sections("grammar_environments").values():
        env = []
        for line in text.split("\n"):
            key, _, form = line.removeprefix("~").partition("=")
            env.append({"name": key, "value": writer.text(key, "env", form, whole=line.startswith("~"))})
        containers.append({"env": env})
    return _pods(sheet, name, containers)


def _arguments(name: str, cases: dict[str, str]) -> Document:
    """Each command as a list, and in the text that a shell is given."""
    sheet, writer = _open(name)
    containers: list[dict[str, Any]] = []
    for case, form in cases.items():
        if not {"|", "&&", ";"} & set(shlex.split(form)):
            containers.append({"command": [writer.text(case, "arguments", one) for one in _words(form)]})
        containers.append({"command": ["/bin/sh", "-c"], "args": [f"set -e; {writer.text(case, 'sh -c', form)}"]})
    return _pods(sheet, name, containers)


def _words(form: str) -> list[str]:
    """Of a shell's line, with the labels in one piece."""
    marked = (
        form.replace("<%", "\ue010")
        .replace("%>", "\ue011")
        .replace("<=", "\ue012")
        .replace("=>", "\ue013")
        .replace("<~", "\ue014")
        .replace("~>", "\ue015")
    )
    parts, depth, quote = [""], 0, ""
    for letter in marked:
        if letter in "'\"" and quote in {"", letter}:
            quote = "" if quote else letter
        depth += (letter in "\ue010\ue012\ue014") - (letter in "\ue011\ue013\ue015")
        if letter == " " and not depth and not quote:
            parts.append("")
        elif letter not in "'\"":
            parts[-1] += letter
    back = (("\ue010", "<%"), ("\ue011", "%>"), ("\ue012", "<="), ("\ue013", "=>"), ("\ue014", "<~"), ("\ue015", "~>"))
    for mark, sign in back:
        parts = [part.replace(mark, sign) for part in parts]
    return parts


def _scripts(name: str) -> Document:
    sheet, writer = _open(name)
    texts = {}
    for at, cases in _groups(forms("grammar_commands")):
        body = "\n".join(writer.text(case, "script", form) for case, form in cases.items())
        texts[f"run-{at}.sh"] = f"#!/bin/sh\nset -eu\n{body}\necho done\n"
    return _configmaps(sheet, name, texts)


def _files(name: str, cases: dict[str, str]) -> Document:
    sheet, writer = _open(name)
    return _configmaps(sheet, name, {case: writer.text(case, "file", form) for case, form in cases.items()})


def _statements(name: str, cases: dict[str, str]) -> Document:
    """Line by line, so that a leak goes by its line's name."""
    sheet, writer = _open(name)
    texts = {
        case: "\n".join(
            writer.text(f"{case}: {' '.join(line.split()[:3])}", "statement", line) for line in form.split("\n")
        )
        for case, form in cases.items()
    }
    return _configmaps(sheet, name, texts)


def _events(name: str) -> Document:
    sheet, writer = _open(name)
    items = [
        {"metadata": scenery.meta(sheet, "web-0.1"), "reason": "Failed", "message": writer.text(case, "event", form)}
        for case, form in forms("grammar_messages").items()
    ]
    return _list(sheet, name, "Event", "api/v1/namespaces/shop/events", items)


def _log(name: str, cases: dict[str, str]) -> Document:
    sheet, writer = _open(name)
    body = "".join(f"{writer.text(case, 'log', form)}\nreconciled\n" for case, form in cases.items())
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text")


def _plain_arguments(name: str) -> Document:
    sheet, writer = _open(name)
    containers: list[dict[str, Any]] = []
    for form in forms("grammar_plain_commands"):
        case = form.split()[0]
        containers.append({"command": [writer.text(case, "plain argument", one, whole=True) for one in form.split()]})
        containers.append({"args": ["-c", writer.text(case, "plain command", form, whole=True)]})
    return _pods(sheet, name, containers)


def _plain_texts(name: str) -> Document:
    """Each line in a file of its own, and all commands in one."""
    sheet, writer = _open(name)
    texts = {
        f"line-{at}": f"{writer.text('', 'plain text', line, whole=True)}\n"
        for at, line in enumerate(forms("grammar_plain_logs"))
    }
    script = [
        writer.text(line.split()[0], "plain script", line, whole=True) for line in forms("grammar_plain_commands")
    ]
    return _configmaps(sheet, name, texts | {"run.sh": "\n".join(script) + "\n"})


def _plain_log(name: str) -> Document:
    sheet, writer = _open(name)
    texts = [*forms("grammar_plain_logs"), *forms("grammar_plain_commands")]
    body = "".join(f"{writer.text('', 'plain log line', line, whole=True)}\n" for line in texts)
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web-0/log", body, "text", accept="text")
