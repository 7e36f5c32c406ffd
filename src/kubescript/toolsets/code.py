"""Code mode: the tool `evaluate_script`, the pages of `sdk_docs` as MCP resources, and the prompt `triage`.

Every conversation pays for the tool's whole definition, so it teaches only what a model that knows Python and the
official Kubernetes client cannot guess. The rest is in the sandbox (`help()`), in errors that say what to write
instead, and in the pages, for people who browse and models that want more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import mcp_types

from kubescript import config, evaluator, types
from kubescript.changes.rules import write_settings
from kubescript.kube import namespace_patterns
from kubescript.policy import permissions
from kubescript.toolsets import base, pages, source_globals

__all__ = ["TRIAGE", "toolset"]


_INSTRUCTIONS: Final = (
    "The tool evaluate_script runs a Python script beside the Kubernetes API server and returns the last expression. "
    "Put the whole question into one script and return only what answers it."
)

_DESCRIPTION: Final = Path(__file__).with_name("evaluate_script.txt")
"""The tool description for models."""

_READ_ONLY: Final = "Read-only: writes and exec are denied, whatever an access review says."
_INTENTS: Final = (
    " k8s.apply(manifest), k8s.scale(obj, n), k8s.restart(obj) and k8s.set_image(obj, container=image) write, too."
)
_PLANNED: Final = (
    "Writes are planned, later reads show them; after the script a person approves one diff. "
    "Never planned: exec{refused}."
)
_READ_WRITE: Final = "Writes change the cluster at once. Refused: exec{refused}."
_METADATA: Final = "metadata, without values, key names or type"
_KEYS: Final = "metadata, type and key names (for secretKeyRef), values masked"
_RUNBOOKS: Final = " k8s.runbooks() lists reviewed scripts; prefer k8s.runbook(name, **arguments) where one fits."
_NAMESPACES: Final = (
    " You see only the namespaces {names}: lists over all have just these, and nothing outside of namespaces is served."
)
_SEVERAL_CLUSTERS: Final = (
    "Clusters: {names}; k8s is the first. Policies may differ{writable}. Catch ApiException: one may be down."
)
_MAX_NAMES_LENGTH: Final = 44
"""How many characters of cluster names the definition shows; `k8s.contexts()` lists them all."""

_MAX_REFUSED_LENGTH: Final = 64
"""How many characters about refused writes the definition shows, and half as many with several clusters; a refusal says
the rest."""

_EXAMPLE: Final = "Counter(p.spec.node_name for p in k8s.coreV1().list_pod_for_all_namespaces())"
_EXAMPLE_SEVERAL_CLUSTERS: Final = "{c: len(k8s.context(c).coreV1().list_node()) for c in k8s.contexts()}"

_TRIAGE_TEXT: Final = Path(__file__).with_name("triage.txt")
"""The prompt for models."""

_OUTPUT_SCHEMA: Final = {
    "type": "object",
    "properties": {
        "result": {"description": "value of the last expression"},
        "printed": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}, "description": "what the result lacks"},
    },
    "required": ["result"],
}
"""The schema of structured results, which operators may enable; it then counts as part of the definition."""


def toolset(
    settings: config.Settings, script_evaluator: evaluator.Evaluator, source_kinds: Collection[str]
) -> base.Toolset:
    """Returns the code toolset for these settings; `source_kinds` are those of all sources, saved ones too."""

    # The SDK checks nothing: `server` validates the arguments against the schema before it calls this.
    async def evaluate_script(
        arguments: base.Arguments, on_progress: types.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        script = arguments["script"]
        timeout_ms = arguments.get("timeout")
        return await script_evaluator.evaluate(script, timeout_ms, on_progress, caller, by_caller=True)

    tool = base.Tool(_definition(settings, source_kinds), evaluate_script)
    what = "evaluate a Python script in a sandbox beside the API server"
    return base.Toolset("code", what, (tool,), pages.pages(), (TRIAGE,), _INSTRUCTIONS)


def _definition(settings: config.Settings, source_kinds: Collection[str]) -> mcp_types.Tool:
    limits = settings.limits
    return mcp_types.Tool(
        name="evaluate_script",
        title="Evaluate a Kubernetes script",
        description=_DESCRIPTION.read_text("utf-8")
        .strip()
        .format(
            access=_access(settings)
            + _namespaces(settings)
            + (_RUNBOOKS if settings.runbooks.folder is not None else "")
            + source_globals.describe(settings, source_kinds),
            secrets=_describe_secrets(settings),
            example=_EXAMPLE_SEVERAL_CLUSTERS if settings.is_several else _EXAMPLE,
            memory=limits.memory_mib,
            calls=limits.api_calls,
            output=limits.output_kib,
        ),
        input_schema=_input_schema(limits, by_argument=settings.by_argument),
        output_schema=_OUTPUT_SCHEMA if settings.output.structured else None,
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not settings.writable,
            destructive_hint=settings.writable,
            idempotent_hint=not settings.writable,
            open_world_hint=True,
        ),
    )


def _input_schema(limits: config.Limits, *, by_argument: bool) -> dict[str, Any]:
    """Returns the schema of the tool's arguments."""
    approved = {"approved": dict(base.APPROVED)} if by_argument else {}
    return {
        "type": "object",
        "properties": {
            "script": {"type": "string", "description": "Python", "minLength": 1},
            "timeout": {
                "type": "integer",
                "description": "milliseconds for the script",
                "default": limits.default_timeout_ms,
                "minimum": 1,
                "maximum": limits.max_timeout_ms,
            },
            **approved,
        },
        "required": ["script"],
        "additionalProperties": False,
    }


def _access(settings: config.Settings) -> str:
    """Returns a description of what scripts may do, and where."""
    clusters = settings.clusters
    if not settings.is_several:
        return _effect(settings, clusters, _MAX_REFUSED_LENGTH) + (_INTENTS if settings.writable else "")
    names, writable = _describe_found(settings) if settings.fleet.is_on else _describe_listed(settings)
    if writable:
        writable = f"; writes reach {writable}"
    effect = _effect(settings, clusters, _MAX_REFUSED_LENGTH // 2)
    return f"{effect} {_SEVERAL_CLUSTERS.format(names=names, writable=writable)}"


def _describe_listed(settings: config.Settings) -> tuple[str, str]:
    """Returns the names of the clusters, and those of the writable ones, each as many as fit."""
    names = settings.context_names
    writable_names = [name for name in names if settings.of_context(name).mode != "off"]
    # Every conversation pays for the definition; `k8s.contexts()` lists all names.
    shown = _names_that_fit(names, _MAX_NAMES_LENGTH)
    writable = ", ".join(writable_names)
    if len(writable_names) == len(names):
        writable = "all"
    elif len(writable) > _MAX_NAMES_LENGTH // 2:
        writable = f"{len(writable_names)} of them"
    return shown, writable


def _describe_found(settings: config.Settings) -> tuple[str, str]:
    """Returns how scripts list clusters that come and go, and which of them are writable."""
    shown = "k8s.contexts(label_selector=...)"
    if settings.fleet.groups:
        shown += f" or (group=...): {_names_that_fit(tuple(settings.fleet.groups), _MAX_NAMES_LENGTH)}"
    if not settings.writable:
        return shown, ""
    return shown, "some" if "off" in settings.modes else "all"


def _namespaces(settings: config.Settings) -> str:
    """Returns a description of the namespaces to which scripts are limited; empty if they are not."""
    if settings.namespaces is None:
        return ""
    return _NAMESPACES.format(names=namespace_patterns.describe(settings.namespaces))


def _effect(settings: config.Settings, clusters: Collection[config.Settings], room: int) -> str:
    """Returns what becomes of the writes to these clusters; `room` is for how many characters about refused ones."""
    rules = [write_settings.read(own.write_policy, own.mode, own.approval) for own in clusters if own.mode != "off"]
    if not rules:
        return _READ_ONLY
    effect = _PLANNED if "plan" in settings.modes else _READ_WRITE
    # What only some of them refuse is for the refusal to say.
    refused = [what for what in rules[0].refusals if all(what in each.refusals for each in rules)]
    return effect.format(refused=_list_refused(refused, room))


def _describe_secrets(settings: config.Settings) -> str:
    """Returns what scripts get of Secrets in every cluster."""
    return _KEYS if all(map(permissions.serves_keys, settings.clusters)) else _METADATA


def _list_refused(refused: Sequence[str], room: int) -> str:
    """Returns as many of these words as fit, each after a comma."""
    shown = ""
    for what in refused:
        if len(shown) + len(what) > room:
            return f"{shown} and more"
        shown += f", {what}"
    return shown


def _names_that_fit(names: Sequence[str], room: int) -> str:
    """Returns as many of the names as fit, and the total number if some do not."""
    whole = ", ".join(names)
    if len(whole) <= room:
        return whole
    shown: list[str] = []
    for name in names:
        longer = ", ".join([*shown, name])
        if len(longer) > room:
            break
        shown.append(name)
    shown.append(f"… ({len(names)} in all)")
    return ", ".join(shown)


def _write_triage(arguments: Mapping[str, str]) -> str:
    """Returns the prompt for what a person has noticed, and where."""
    given = {name: value.strip() for name, value in arguments.items()}
    parts = [_describe_objects(given.get("kind", ""), given.get("name", ""))]
    parts += [f"{place} {given[place]}" for place in ("namespace", "cluster") if given.get(place)]
    where = " of ".join(filter(None, parts)) or "the whole cluster"
    symptom = ""
    if given.get("symptom"):
        symptom = f": {given['symptom']}"
    text = _TRIAGE_TEXT.read_text("utf-8").strip()
    return text.format(where=where, symptom=symptom)


def _describe_objects(kind: str, name: str) -> str:
    """Returns what is to be looked at; empty when neither is known."""
    if kind and name:
        return f"{kind} {name}"
    if kind:
        return f"the objects of kind {kind}"
    return name


TRIAGE: Final = base.Prompt(
    mcp_types.Prompt(
        name="triage",
        title="Find out what is wrong",
        description="Find the cause of a problem in the cluster, a namespace or an object, with a few scripts.",
        arguments=[
            mcp_types.PromptArgument(name="cluster", description="which one, where there are several"),
            mcp_types.PromptArgument(name="namespace", description="where to look; everywhere when left out"),
            mcp_types.PromptArgument(name="kind", description="of the object to look at: Deployment"),
            mcp_types.PromptArgument(name="name", description="of that object"),
            mcp_types.PromptArgument(name="symptom", description="what was noticed, in your words"),
        ],
    ),
    _write_triage,
    {"cluster": "cluster", "namespace": "namespace", "kind": "kind", "name": "name"},
)
