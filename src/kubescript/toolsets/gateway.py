"""The toolset `gateway`: objects of one namespace at a time, and two writes that state their intent.

A gate on the host refuses whatever the tools' contract forbids before anything is sent: Secrets and ConfigMaps in every
group, selectors, a caller's own patches, and, where the caller approves, a change without `approved`. The worker
compares a kind's names with discovery. Policy, plan and approval are those of every script.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Final

from kubescript import types
from kubescript.kube import kinds
from kubescript.output import sanitizing, sentences
from kubescript.toolsets import arguments, base, classic
from kubescript.wire import messages

__all__ = ["FORBIDDEN", "toolset"]

FORBIDDEN: Final = frozenset({"configmaps", "secrets"})
"""Plurals that no tool accepts, in any group."""
_READS: Final = ("k8s_list", "k8s_get", "k8s_list_events", "k8s_pod_logs")
_DONE: Final = {"k8s_delete": "deleted", "k8s_patch": "patched"}
"""Write tools, and the result that each reports."""
_WITH_PODS: Final = ("deployments", "statefulsets", "daemonsets")
_ALLOWED: Final = {
    "scale": ("deployments", "statefulsets", "replicasets"),
    "update_image": _WITH_PODS,
    "rollout_restart": _WITH_PODS,
}
"""Plurals of apps/v1 by action."""
_FIELDS: Final = {"scale": ("replicas",), "update_image": ("container", "image"), "rollout_restart": (), "delete": ()}
"""The only fields that each action accepts."""
_ALL_FIELDS: Final = ("replicas", "container", "image")
_DISCOVERED: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""The pattern of a group, version or plural."""
_IMAGE: Final = re.compile(r"[a-zA-Z0-9][-\w.:/@+]*", re.ASCII)
_BLOCKED: Final = "BLOCKED: "
_CRITICAL: Final = "plan.override"
"""The code of a plan with findings that only a person can override, with a reason."""
_MAX_SHOWN: Final = 63
_TYPE: Final = re.compile(r"([\w.]{1,80}): ", re.ASCII)
"""The beginning of an error of the worker."""


def toolset(access: base.Access, *, writable: bool, by_argument: bool) -> base.Toolset:
    """Returns the toolset. `writable` says whether the default cluster may be changed, `by_argument` whether a tool's
    caller approves its changes."""
    tools = [_make_tool(name, access, by_argument=False) for name in _READS]
    if writable:
        # Only a write has something to approve.
        tools += [_make_tool(name, access, by_argument=by_argument) for name in _DONE]
    about = "objects of a namespace, and writes by intent"
    return base.Toolset("gateway", about, tuple(tools), instructions=classic.INSTRUCTIONS)


def _make_tool(name: str, access: base.Access, *, by_argument: bool) -> base.Tool:
    definition = classic.definition(name, access.language, writes=name in _DONE, by_argument=by_argument)

    async def call(given: base.Arguments, on_progress: types.OnProgress | None, caller: types.Caller) -> types.Answer:
        try:
            checked = _check(name, given, by_argument=by_argument)
        except arguments.Refusal as refusal:
            text = sanitizing.clean(f"{_BLOCKED}{refusal.message}")
            return types.Answer(text, is_error=True, code=refusal.code)
        script = _write_script(name, checked, access.language)
        return await access.evaluate(script, None, on_progress, caller)

    return base.Tool(definition, call, lambda given, answer: _word(name, given, answer))


# --- the gate ---------------------------------------------------------------------------------------------------------


def _check(name: str, given: base.Arguments, *, by_argument: bool) -> dict[str, Any]:
    """Returns the arguments of a call, without `approved`. Raises Refusal."""
    plural = str(given.get("plural")).strip()
    if plural.lower() in FORBIDDEN:
        raise arguments.Refusal("gate_forbidden", plural=plural)
    known = tuple(classic.SCHEMAS[name]["properties"])
    checked = arguments.check(name, given, known)
    _check_names(checked)
    if name == "k8s_patch":
        _check_action(checked)
    # With a person's approval this argument has no effect: the person is asked instead.
    is_approved = checked.pop("approved", False) is True
    if by_argument and not is_approved:
        raise arguments.Refusal("approval_required")
    return checked


def _check_names(checked: base.Arguments) -> None:
    """Raises Refusal for a value that cannot name a kind or an image. The core group has an empty name."""
    for field in ("group", "version", "plural"):
        value = checked.get(field)
        is_core = field == "group" and value == ""
        if value is None or is_core:
            continue
        if not _DISCOVERED.fullmatch(value):
            raise arguments.Refusal("gate_discovered", name=value[:_MAX_SHOWN])
    image = checked.get("image")
    if image is not None and not _IMAGE.fullmatch(image):
        raise arguments.Refusal("gate_image", image=image[:_MAX_SHOWN])


def _check_action(checked: base.Arguments) -> None:
    """Raises Refusal for an action on a kind that it does not support, or with fields that are not exactly its own."""
    action = checked["action"]
    plural = checked["plural"]
    group_version = f"{checked['group']}/{checked['version']}".removeprefix("/")
    if group_version != "apps/v1" or plural not in _ALLOWED[action]:
        allowed = ", ".join(_ALLOWED[action])
        raise arguments.Refusal(
            "gate_action_kind", action=action, allowed=allowed, plural=plural, group_version=group_version
        )
    given = tuple(field for field in _ALL_FIELDS if field in checked)
    wanted = _FIELDS[action]
    if given != wanted:
        raise arguments.Refusal("gate_action_fields", action=action, wanted=_join(wanted), given=_join(given))


def _join(fields: tuple[str, ...]) -> str:
    return ", ".join(fields) or "none"


# --- the script and its answer ----------------------------------------------------------------------------------------


def _write_script(name: str, checked: base.Arguments, language: messages.Language) -> str:
    """Returns the script of a call. A write's script spells out its answer, so that no text in it comes from the
    cluster."""
    call = classic.script(name, checked, None, language)
    if name not in _DONE:
        return call
    result = f"'planned' if {call} else {_DONE[name]!r}"
    return f"{{'result': {result}, **{_describe(checked)!r}}}"


def _describe(checked: base.Arguments) -> dict[str, Any]:
    """Returns the fields of an answer that describe a write."""
    action = checked.get("action", "delete")
    group = checked["group"]
    plural = checked["plural"]
    kind = kinds.kind_of(group, plural) or kinds.full_name(group, plural)
    target = f"{kind} {checked['namespace']}/{checked['name']}"
    fields = {field: checked[field] for field in _FIELDS[action]}
    explain = messages.text(f"explain_{action}", target=target, **fields)
    return {"action": action, **fields, "explain": explain}


def _word(name: str, given: base.Arguments, answer: types.Answer) -> types.Answer:
    """Rewrites an answer in the contract's words."""
    if answer.is_error:
        return replace(answer, text=_word_error(answer))
    if not answer.applied:
        return answer
    checked = _check(name, given, by_argument=False)
    done = {"result": _DONE[name], **_describe(checked)}
    result = json.dumps(done, ensure_ascii=False, separators=(",", ":"))
    # The plan was made before it was applied, so the answer still says `planned`.
    rest = _remove_result(answer.text)
    structured = answer.structured
    if structured is not None:
        structured = {**structured, "result": done}
    return replace(answer, text=f"{result}\n{rest}", structured=structured)


def _remove_result(text: str) -> str:
    """Returns an answer without the result of a write that was only planned; a mark may precede the result."""
    before, result, after = text.rpartition('{"result":"planned"')
    if not result or before.count("\n") > 1:
        return text
    _, _, rest = after.partition("\n")
    return before + rest


def _word_error(answer: types.Answer) -> str:
    """Returns the text of an error: `BLOCKED: …` or `ERROR: Type: …`."""
    mark, _, marked = answer.text.partition("\n")
    found = _TYPE.match(marked) if answer.untrusted else None
    # Attack: a compromised worker sends an instruction as the type of an error.
    if found is not None and (sentences.is_type(found[1]) or sentences.is_word(found[1])):
        beginning = _prefix(found[0]).rstrip()
        rest = marked[found.end() :]
        return f"{beginning}\n{mark}\n{rest}"
    text = answer.text
    if answer.code == "request.arguments":  # the schema is part of the gate
        return f"{_BLOCKED}{text}"
    text = _remove_result(text).removeprefix("error ")
    if answer.code == _CRITICAL:  # the rules are part of the gate too
        text = text.removeprefix(f"{answer.code}: ")
        return f"{_BLOCKED}{text}"
    if text.startswith("plan "):
        text = f"{answer.code}: {text}"
    return _prefix(text)


def _prefix(text: str) -> str:
    """Returns the text with the contract's prefix for errors, unless it says that the gate blocks the call."""
    if text.startswith(_BLOCKED):
        return text
    return f"ERROR: {text}"
