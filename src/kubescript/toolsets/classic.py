"""The classic tools: names, schemas and error texts of an API contract, carried out by scripts of one line.

`classic.json` has the contract's schemas and `descriptions.toml` what a model reads of each tool. A call becomes a
script such as `k8s.tools.kubectl_get(resource='pods', namespace='shop')`, which the evaluator runs like any other: one
policy, one redaction, one record. The functions behind it are in `worker.tools`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import mcp_types

from kubescript import evaluator, types
from kubescript.toolsets import arguments, base
from kubescript.wire import messages

__all__ = ["DESCRIPTIONS", "SCHEMAS", "Access", "tools"]

_HERE: Final = Path(__file__).parent
SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = json.loads(_HERE.joinpath("classic.json").read_text("utf-8"))
"""Input schemas by tool, without descriptions."""
DESCRIPTIONS: Final[Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    _HERE.joinpath("descriptions.toml").read_text("utf-8")
)
"""Descriptions by tool and language, and of arguments."""
_WORD_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PREREQUISITE: Final = "tool.prerequisite"


Evaluate = Callable[[str, int | None, evaluator.OnProgress | None, types.Caller], Coroutine[Any, Any, types.Answer]]


@dataclass(frozen=True, slots=True)
class Access:
    """What the classic tools need of a server."""

    evaluate: Evaluate
    """Runs a script, with its time in milliseconds: `Evaluator.evaluate`."""
    clusters: Callable[[], Sequence[str]]
    """Returns the names that `cluster` may have."""
    language: messages.Language = "en"


Local = Callable[[Mapping[str, Any]], types.Answer]
"""Answers a call on the host, from its checked arguments, without a script."""


def tools(
    access: Access, names: Sequence[str], *, writes: bool = False, local: Mapping[str, Local] | None = None
) -> tuple[base.Tool, ...]:
    """Returns these tools. `writes` says that they change the cluster; those in `local` ask no cluster."""
    found = []
    for name in names:
        handler = _handler(name, access, (local or {}).get(name))
        found.append(base.Tool(_definition(name, access.language, writes=writes), handler))
    return tuple(found)


def _definition(name: str, language: messages.Language, *, writes: bool) -> mcp_types.Tool:
    words = DESCRIPTIONS[name]
    schema = json.loads(json.dumps(SCHEMAS[name]))
    for argument, text in words.get(f"{language}_arguments", {}).items():
        schema["properties"][argument]["description"] = text
    return mcp_types.Tool(
        name=name,
        description=words[language],
        input_schema=schema,
        annotations=mcp_types.ToolAnnotations(read_only_hint=not writes, destructive_hint=writes, open_world_hint=True),
    )


def _handler(name: str, access: Access, local: Local | None) -> base.Handler:
    async def call(
        given: Mapping[str, Any], on_progress: evaluator.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        try:
            checked = arguments.checked(name, given, tuple(SCHEMAS[name]["properties"]))
        except arguments.Refusal as refusal:
            return types.Answer(f"Error: {refusal.message}", is_error=True, code=refusal.code)
        cluster = checked.pop("cluster", "")
        clusters = access.clusters()
        if cluster and cluster not in clusters:
            unknown = messages.text("unknown_cluster", cluster=cluster, known=", ".join(clusters))
            return _unmet(name, cluster, unknown, "cluster_list")
        if local is not None:
            return local(checked)
        script = _script(name, checked, cluster, access.language)
        answer = await access.evaluate(script, None, on_progress, caller)
        if answer.code.startswith(_PREREQUISITE):
            return _explained(name, cluster or clusters[0], answer)
        return answer

    return call


def _script(name: str, checked: Mapping[str, Any], cluster: str, language: str) -> str:
    """Returns the script that carries out a call. The arguments are texts, numbers and maps of texts, so that their
    `repr` is Python."""
    options = {_WORD_START.sub("_", argument).lower(): value for argument, value in checked.items()}
    if language != "en":
        options["language"] = language
    written = ", ".join(f"{option}={value!r}" for option, value in options.items())
    where = f"k8s.context({cluster!r})" if cluster else "k8s"
    return f"{where}.tools.{name}({written})"


def _explained(name: str, cluster: str, answer: types.Answer) -> types.Answer:
    """Returns the contract's error for a cluster that cannot be asked."""
    action = messages.text(answer.code.replace(_PREREQUISITE, "action"), cluster=cluster)
    unmet = _unmet(name, cluster, answer.text.removeprefix("Error: "), action)
    return replace(unmet, usage=answer.usage, untrusted=answer.untrusted)


def _unmet(name: str, cluster: str, details: str, action: str) -> types.Answer:
    meta = {
        "errorType": "PrerequisiteError",
        "cluster": cluster,
        "tool": name,
        "requiresAction": True,
        "suggestion": action,
    }
    text = messages.text("prerequisite", details=details, action=action)
    return types.Answer(text, is_error=True, code=_PREREQUISITE, meta=meta)
