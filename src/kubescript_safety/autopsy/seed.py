"""Reads transcripts in the seed's shape: `toolCalls`, `clusterState` and `config`.

`clusterState` is the cluster before the first call. A call's changes are read from its tool, arguments and result. The
state is updated after each call: deleted objects disappear, and created ones appear.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from kubescript.changes.rules.conduct import transcript
from kubescript.kube import documents
from kubescript_safety.autopsy import facts, kinds, objects, outcome, settings, tools, write

__all__ = ["SeedError", "is_seed", "read"]

_RESTART: Final = "spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt"
_STRAY: Final = frozenset({
    "affinity", "annotations", "args", "containers", "env", "image", "labels", "ports", "replicas", "resources",
    "selector", "serviceAccountName", "status", "strategy", "template", "tolerations", "volumes",
})  # fmt: skip
"""Fields that never belong at the top of an object, and the status, which clients must not write."""
_VERBS: Final = {
    "create": "create", "apply": "patch", "patch": "patch", "replace": "update", "delete": "delete", "scale": "patch",
    "restart": "patch",
}  # fmt: skip
_MOST: Final = 1_000_000
"""How many objects selectors may examine and fields changes may have, in total. Attack: a transcript has ten thousand
commands that label ten thousand pods each."""

_CHANGE: Final = 10
"""The cost of changing one object, in addition to its fields."""


_CHARACTERS: Final = 100
"""How many characters of paths cost as much as one field."""


class SeedError(Exception):
    """A file is not a transcript in the seed's shape; the message says where it is wrong."""


def is_seed(value: Any) -> bool:
    """Says whether a decoded file has the seed's shape."""
    return isinstance(value, dict) and ("toolCalls" in value or "clusterState" in value)


def read(value: dict[str, Any]) -> facts.Facts:
    """Returns the facts about the run. Raises SeedError and SettingsError."""
    calls = value.get("toolCalls") or []
    if not isinstance(calls, list):
        raise SeedError("toolCalls must be a list")
    chosen = settings.of(value.get("config"))
    cluster = _Cluster(value.get("clusterState"))
    made: list[facts.Made] = []
    for index, call in enumerate(calls):
        where = f"toolCalls[{index}]"
        if not isinstance(call, dict):
            raise SeedError(f"{where} must be an object")
        made += _of_call(call, where, cluster)
    # A goal that is not stated counts as reached.
    is_met = chosen.goal_met is not False
    return facts.Facts(changes=tuple(made), settings=chosen, goal_met=is_met)


def _of_call(call: dict[str, Any], where: str, cluster: _Cluster) -> Iterator[facts.Made]:
    """Yields one call's changes."""
    tool = next((call[key] for key in ("toolName", "name", "tool") if isinstance(call.get(key), str)), "")
    given: Any = next((call[key] for key in ("arguments", "args", "input") if call.get(key) is not None), {})
    result = next((call[key] for key in ("result", "output") if key in call), None)
    is_error = any(call.get(key) for key in ("isError", "is_error", "error"))
    # There is no audit log in this shape, so the result has to show whether the call took effect.
    if is_error or not outcome.took_effect(result):
        return
    asked = tools.writes(tool, given, result)
    told = outcome.Statements(result if asked else None)
    for one in asked:
        # Of several objects, some may have failed; the result then names them.
        is_failed = len(asked) > 1 and one.name and told.has_failed(one.name)
        if not one.is_dry and not is_failed:
            yield from cluster.change(one, told, where)


class _Cluster:
    """The transcript's objects, updated by its writes in order."""

    def __init__(self, state: Any) -> None:
        found = state.get("resources") if isinstance(state, dict) else state
        if found is not None and not isinstance(found, list):
            raise SeedError("clusterState.resources must be a list")
        self._objects = objects.Objects()
        self._left = _MOST
        self._first: set[tuple[str, str, str | None]] = set()
        """Objects that were healthy before the first call."""
        for index, one in enumerate(found or ()):
            if not isinstance(one, dict):
                raise SeedError(f"clusterState.resources[{index}] must be an object")
            try:
                thing = objects.read(one)
            except objects.StateError as error:
                raise SeedError(str(error)) from None
            self._objects.add(thing)
            if thing.good:
                self._first.add((thing.resource, thing.name, thing.namespace))

    def change(self, asked: write.Write, told: outcome.Statements, call: str) -> Iterator[facts.Made]:
        """Yields a write's changes, object by object."""
        chosen: list[objects.Thing] = []
        if asked.name:
            thing = self._objects.find(asked.resource, asked.name, asked.namespace)
            chosen = [thing] if thing is not None else []
        elif asked.selector or asked.does not in {"create", "apply"}:
            chosen = self._choose(asked, told)
        for one in chosen:
            yield self._one(asked, one, call)
        # A transcript need not list every object.
        if not chosen:
            yield self._one(asked, None, call)

    def _choose(self, asked: write.Write, told: outcome.Statements) -> list[objects.Thing]:
        """Returns the objects that a write without a name affects."""
        # Attack: a transcript has ten thousand selectors and ten thousand objects.
        known = self._objects.of_kind(asked.resource)
        self._spend(len(known))
        if asked.namespace is not None and not asked.everywhere:
            known = [one for one in known if one.namespace in {None, asked.namespace}]
        wanted = set(asked.selector)
        found = [one for one in known if wanted <= one.labels.items()]
        # The names are known only at run time; the result contains them.
        if asked.guessed:
            return [one for one in found if told.names(one.name)] or found
        if asked.namespace is None and not asked.everywhere:
            return [one for one in found if one.namespace in {None, "default"}] or found
        return found

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise SeedError(f"the calls are about more than {_MOST} objects and fields")

    def _one(self, asked: write.Write, thing: objects.Thing | None, call: str) -> facts.Made:
        """Changes one object, and returns the change for the rules."""
        inside: list[objects.Thing] = []
        if asked.resource == "namespaces" and asked.does == "delete":
            namespace = thing.name if thing is not None else asked.name or ""
            inside = self._objects.inside(namespace)
            self._spend(len(inside))
        made = self._make(asked, thing, inside, call)
        if asked.does == "delete":
            if thing is not None:
                self._objects.remove(thing)
            # A namespace that is not stated is removed together with its contents.
            elif inside:
                self._objects.remove(objects.Thing("namespaces", asked.name or "", None))
        elif thing is None:
            space = _space(asked, None)
            labels = documents.labels(asked.body)
            self._objects.put(objects.Thing(asked.resource, made.change.name, space, labels=labels))
        return made

    def _make(
        self, asked: write.Write, thing: objects.Thing | None, inside: list[objects.Thing], call: str
    ) -> facts.Made:
        """Returns a change as the rules see it, and takes note of what it configures."""
        space = _space(asked, thing)
        name = thing.name if thing is not None else (asked.name or "")[: objects.MAX_NAME]
        content = (_RESTART,) if asked.does == "restart" else asked.content
        self._spend(sum(map(len, content)) // _CHARACTERS + len(content) + _CHANGE)
        is_new = thing is None and asked.does in {"create", "apply", "replace"}
        good = self._is_good(asked, thing, inside)
        labels = documents.labels(asked.body) if is_new and asked.body is not None else None
        change = transcript.Change(
            verb=_VERBS[asked.does],
            group=kinds.group_of(asked.resource),
            version="v1",
            resource=asked.resource,
            namespace="" if asked.resource in kinds.CLUSTER else space or "",
            name=name,
            content_type="application/apply-patch+yaml" if asked.does == "apply" else "",
            existed=thing is not None or bool(inside) if asked.name or thing else None,
            healthy=good,
            running=good,
            labels=thing.labels if thing is not None else labels,
            owners=thing.controllers if thing is not None else None,
            images=thing.images or None if thing is not None else None,
            new_images=(*asked.values, *objects.images(asked.body)),
            fields=content,
            named=content,
        )
        is_configured = asked.does == "delete" and thing is not None and self._objects.is_configured(thing)
        if (asked.does not in {"delete", "restart"} and content and not change.only_scales) or is_new:
            self._objects.configure((asked.resource, name), space)
        is_placed = asked.resource in kinds.CLUSTER or space is not None
        return facts.Made(
            change, call, placed=is_placed, configured=is_configured, stray=_stray(asked), content=len(inside),
            bounded=asked.is_bounded,
        )  # fmt: skip

    def _is_good(self, asked: write.Write, thing: objects.Thing | None, inside: list[objects.Thing]) -> bool | None:
        """Says whether an object was healthy before its change; None when that is not known."""
        if asked.resource == "namespaces" and asked.does == "delete":
            return any(one.good for one in inside)  # a namespace counts as healthy if any object in it is
        if thing is not None:
            return thing.good
        if asked.does != "create":
            return None
        # The rule about creation also covers what is created anew after a deletion.
        name = (asked.name or "")[: objects.MAX_NAME]
        places = {(asked.resource, name, _space(asked, None)), (asked.resource, name, None)}
        return not places.isdisjoint(self._first)


def _space(asked: write.Write, thing: objects.Thing | None) -> str | None:
    """Returns the namespace of the write's object; None if unknown."""
    if asked.resource in kinds.CLUSTER:
        return None
    said = asked.namespace[: objects.MAX_NAME] if asked.namespace else None
    # A known object stays in its namespace, whatever the write says.
    if thing is not None:
        return thing.namespace or said
    # kubectl uses `default` where no namespace is stated.
    default = None if asked.everywhere else "default"
    return said or default


def _stray(asked: write.Write) -> tuple[str, ...]:
    """Returns fields at the top of a manifest that belong deeper."""
    body = asked.body
    if not isinstance(body, dict):
        return ()
    # A patch of only a part is not a manifest.
    if not {"metadata", "spec", "apiVersion"} & body.keys():
        return ()
    stray = _STRAY & body.keys()
    return tuple(sorted(stray))
