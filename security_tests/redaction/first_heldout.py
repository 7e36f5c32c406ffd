"""The first held-out set: forms that were kept from whoever wrote the rules until these had been measured; known since,
and part of main."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from security_tests.redaction import lookalikes, scenery, specials
from security_tests.redaction.chance import Chance
from security_tests.redaction.datafiles import forms
from security_tests.redaction.sheet import Document, Sheet

__all__ = ["documents"]

_REPEATS: Final = 2
_TOGETHER: Final = 6

_CORES: Final = {
    "ConnectionStrings__Default": ("Password=", ";"),
    "BASIC_AUTH": (":", "\n"),
    "HTTP_PROXY": ("proxyuser:", "@"),
    "GIT_REMOTE": ("//", "@"),
}
"""Between which texts the secret of a variable stands, where it is not the whole value."""


def documents() -> Iterator[Document]:
    """Every form twice, with other values; and the look-alikes three times."""
    for repeat in range(_REPEATS):
        for write, file in (
            (specials.configmap, "first_files"),
            (specials.log, "first_logs"),
            (specials.spec, "first_specs"),
        ):
            cases = list(forms(file).items())
            for at in range(0, len(cases), _TOGETHER):
                yield write(f"held-out {write.__name__} {repeat}.{at}", cases[at : at + _TOGETHER])
        yield _environment(f"held-out environment {repeat}")
        yield _refused(f"held-out refusal {repeat}")
    for repeat in range(3):
        yield lookalikes.settings(f"held-out settings {repeat}", "first_plain_environment")
        yield lookalikes.lines(f"held-out log {repeat}", "first_plain_logs")
        yield lookalikes.messages(f"held-out events {repeat}", "first_plain_logs")
        yield lookalikes.entries(f"held-out files {repeat}", "first_plain_files")


def _environment(name: str) -> Document:
    sheet, writer = specials.opened(name)
    variables: list[dict[str, Any]] = []
    for key, form in forms("first_environment").items():
        value = writer.plain(form)
        start, end = _CORES.get(key, ("", ""))
        core = (value.split(start)[1].split(end)[0],) if start else ()
        variables.append({"name": key, "value": sheet.secret(f"variable {key}", "env", value, *core)})
    items = [scenery.pod(sheet, f"env{at}", {"env": variables[at : at + 4]}) for at in range(0, len(variables), 4)]
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, "api/v1/namespaces/shop/pods", body)


def _refused(name: str) -> Document:
    """Errors of the API server that print what they refuse."""
    sheet = Sheet(Chance(name))
    c = sheet.chance
    first = sheet.secret("Go diff in an error", "Status message", c.dull())
    second = sheet.secret("Go diff in an error", "Status message", c.strong())
    third = sheet.secret("invalid value in an error", "Status message", c.strong())
    message = (
        f'Pod "web" is invalid: spec: Forbidden: pod updates may not change fields other than `image`:  core.PodSpec{{ Containers: []core.Container{{{{Name: "app", '
        f'Args: []string{{"--password={second}"}}, Env: []core.EnvVar{{{{Name: "DB_PASSWORD", Value: "{first}"}}}}}}}}}}; spec.auth.password: Invalid value: "{third}": must be shorter'
    )
    uid = sheet.keep("uid in a Status", c.uuid())
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "Invalid",
        "details": {"uid": uid},
        "code": 422,
    }
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web", body)
