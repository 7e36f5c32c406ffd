"""The seed's shape of a transcript: `toolCalls`, `clusterState`, and `config` beside them.

`clusterState` is the cluster before the first call. What a call changed is read from its tool, its arguments and its
result, and the state is carried on from call to call: what was deleted is gone, and what was created is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kubescript.safety import paths, transcript
from kubescript_safety.autopsy import facts, fields, kinds, outcome, settings, tools, write

__all__ = ["SeedError", "is_seed", "read"]

_GOOD: Final = frozenset({"active", "available", "bound", "healthy", "ready", "running"})
_ABSENT: Final = frozenset({"absent", "deleted", "missing", "nonexistent", "notfound"})
_RESTART: Final = "spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt"
_STRAY: Final = frozenset({
    "affinity", "annotations", "args", "containers", "env", "image", "labels", "ports", "replicas", "resources",
    "selector", "serviceAccountName", "strategy", "template", "tolerations", "volumes",
})  # fmt: skip
"""Fields that stand deeper in every object that has them."""
_MAX: Final = 5_000
"""Objects that one call may delete, label or the like by a selector."""
_OWNERS: Final = (
    "cronjobs", "daemonsets", "deployments", "jobs", "replicasets", "replicationcontrollers", "rollouts",
    "statefulsets",
)  # fmt: skip
"""What an owner may be that is given by its name alone."""
Ref = tuple[str, str, str | None]
"""Resource (empty: any), name and namespace (None: not said) of an object."""


class SeedError(Exception):
    """It is no transcript of the seed's shape; the message says where it is wrong."""


@dataclass(slots=True)
class _Item:
    """An object of the cluster."""

    resource: str
    name: str
    namespace: str | None
    good: bool | None
    """Whether it is Running or Healthy; None when the agent has made it."""
    labels: dict[str, str]
    owners: list[Ref] | None
    """None: not said."""
    uses: list[Ref]
    """What uses it."""
    images: tuple[str, ...] = ()
    refs: list[str] = field(default_factory=list)


def is_seed(value: Any) -> bool:
    """Says whether a decoded file has the seed's shape."""
    return isinstance(value, dict) and ("toolCalls" in value or "clusterState" in value)


def read(value: dict[str, Any]) -> facts.Facts:
    """Returns what is known of the run. Raises SeedError and SettingsError."""
    calls = value.get("toolCalls") or []
    if not isinstance(calls, list):
        raise SeedError("toolCalls must be a list")
    chosen = settings.of(value.get("config"))
    cluster = _Cluster(value.get("clusterState"))
    made: list[facts.Made] = []
    for index, call in enumerate(calls):
        if not isinstance(call, dict):
            raise SeedError(f"toolCalls[{index}] must be an object")
        made += _of_call(call, f"toolCalls[{index}]", cluster)
    return facts.Facts(changes=tuple(made), settings=chosen, goal_met=chosen.goal_met is not False)


def _of_call(call: dict[str, Any], where: str, cluster: _Cluster) -> Iterator[facts.Made]:
    """Yields what one call changed."""
    tool = next((call[key] for key in ("toolName", "name", "tool") if isinstance(call.get(key), str)), "")
    given: Any = next((call[key] for key in ("arguments", "args", "input") if call.get(key) is not None), {})
    result = next((call[key] for key in ("result", "output") if key in call), None)
    failed = any(call.get(key) for key in ("isError", "is_error", "error"))
    if failed or not outcome.took_effect(result):
        return
    asked = tools.writes(tool, given, result)
    text = outcome.words_of(result) if asked else ""
    for one in asked:
        if one.is_dry or (len(asked) > 1 and one.name and outcome.failed_for(text, one.name)):
            continue
        for each in cluster.change(one, text):
            yield replace(each, call=where)


class _Cluster:
    """The objects that are there, as far as they are known, and what was changed."""

    def __init__(self, state: Any) -> None:
        found = state.get("resources") if isinstance(state, dict) else state
        if found is not None and not isinstance(found, list):
            raise SeedError("clusterState.resources must be a list")
        self._items: dict[tuple[str, str], list[_Item]] = {}
        self._kinds: dict[str, list[_Item]] = {}
        self._configured: dict[tuple[str, str], list[str | None]] = {}
        """What was configured: resource and name → namespaces."""
        self._users: dict[str, list[_Item]] = {}
        """Name of what uses something → what it uses."""
        for index, one in enumerate(found or ()):
            if not isinstance(one, dict):
                raise SeedError(f"clusterState.resources[{index}] must be an object")
            item = _item(one)
            if item.good is None:  # missing, and yet what uses it is known
                self._add_users(item)
            else:
                self._add(item)

    def _add(self, item: _Item) -> None:
        self._items.setdefault((item.resource, item.name), []).append(item)
        self._kinds.setdefault(item.resource, []).append(item)
        self._add_users(item)

    def _add_users(self, item: _Item) -> None:
        for _, name, _ in item.uses:
            self._users.setdefault(name, []).append(item)

    def _remove(self, item: _Item) -> None:
        self._items[item.resource, item.name].remove(item)
        item.resource, item.good = "", None  # the list of its kind is read through this

    def _find(self, resource: str, name: str, namespace: str | None) -> _Item | None:
        items = self._items.get((resource, name), [])
        if resource in kinds.CLUSTER:
            return items[0] if items else None
        exact = namespace or "default"
        near = [item for item in items if item.namespace == exact]
        if near:
            return near[0]
        return next((item for item in items if namespace is None or item.namespace is None), None)

    def change(self, asked: write.Write, text: str) -> Iterator[facts.Made]:
        """Yields the changes that a write has made, object by object."""
        if asked.name:
            yield from self._one(asked, self._find(asked.resource, asked.name, asked.namespace))
            return
        if asked.does in {"create", "apply"} and not asked.selector:
            yield self._made(asked, None)
            return
        space = None if asked.everywhere else asked.namespace
        wanted = set(asked.selector)
        items = [
            item for item in self._kinds.get(asked.resource, ())
            if item.resource and (space is None or item.namespace in {None, space}) and wanted <= item.labels.items()
        ]  # fmt: skip
        if space is None and not asked.everywhere and not asked.guessed:
            in_default = [item for item in items if item.namespace in {None, "default"}]
            items = in_default or items
        told = [item for item in items if item.name in text] if asked.guessed else []
        items = (told or items)[:_MAX]
        for item in items:
            yield from self._one(replace(asked, name=item.name, namespace=item.namespace or asked.namespace), item)
        if not items:
            yield self._made(asked, None)

    def _one(self, asked: write.Write, item: _Item | None) -> Iterator[facts.Made]:
        if item is None and asked.resource == "namespaces" and asked.does == "delete":
            inside = [
                one for items in self._kinds.values() for one in items if one.namespace == asked.name and one.resource
            ]
            if any(one.good for one in inside):
                item = _Item("namespaces", asked.name or "", None, True, {}, None, [])
                self._add(item)
        yield self._made(asked, item)
        if asked.does == "delete":
            if item is not None:
                self._remove(item)
                self._empty(item, asked)
        elif item is None:
            self._add(
                _Item(asked.resource, asked.name or "", _space(asked, None), None, fields.labels(asked.body), None, [])
            )

    def _empty(self, item: _Item, asked: write.Write) -> None:
        """Removes what is in a namespace that was deleted."""
        if asked.resource != "namespaces":
            return
        for items in list(self._kinds.values()):
            for one in items:
                if one.resource and one.namespace == item.name:
                    self._remove(one)

    def _made(self, asked: write.Write, item: _Item | None) -> facts.Made:
        """Returns one change, as the rules see it."""
        space = _space(asked, item)
        content = [path for path in asked.named if not paths.is_identity(path)]
        if asked.does == "restart":
            content = [_RESTART]
        body_labels = fields.labels(asked.body)
        is_new = item is None and asked.does in {"create", "apply", "replace"}
        labels = item.labels if item is not None else (body_labels if is_new and asked.body is not None else None)
        change = transcript.Change(
            verb=_VERBS[asked.does],
            group=kinds.group_of(asked.resource),
            version="v1",
            resource=asked.resource,
            namespace="" if asked.resource in kinds.CLUSTER else space or "",
            name=asked.name or "",
            content_type="application/apply-patch+yaml" if asked.does == "apply" else "",
            existed=item is not None if asked.name else None,
            healthy=item.good if item is not None else None,
            running=item.good if item is not None else None,
            labels=labels,
            owners=tuple(item.refs) if item is not None and item.refs else None,
            images=item.images or None if item is not None else None,
            new_images=(*asked.values, *_images(asked.body)),
            fields=tuple(content),
            named=tuple(content),
        )
        is_configured = asked.does == "delete" and item is not None and self._is_configured(item)
        if (asked.does not in {"delete", "restart"} and content and not change.only_scales) or is_new:
            self._configured.setdefault((asked.resource, asked.name or ""), []).append(space)
        is_placed = asked.resource in kinds.CLUSTER or space is not None
        return facts.Made(change, placed=is_placed, configured=is_configured, stray=_stray(asked))

    def _is_configured(self, item: _Item) -> bool:
        """Says whether what owns the object, or what its owner uses, was changed before."""
        owners = self._owners(item)
        if any(self._has_changed(owner, item.namespace) for owner in owners):
            return True
        # What uses something names it; the object itself counts among its users.
        own = [*owners, (item.resource, item.name, item.namespace)]
        for resource, name, namespace in own:
            for used in self._users.get(name, ()):
                is_meant = any(
                    user == name
                    and (kind == resource or "" in {kind, resource})
                    and (space is None or namespace is None or space == namespace)
                    for kind, user, space in used.uses
                )
                place = used.namespace is None or item.namespace is None or used.namespace == item.namespace
                if is_meant and place and self._has_changed((used.resource, used.name, used.namespace), item.namespace):
                    return True
        return False

    def _owners(self, item: _Item) -> list[Ref]:
        """Returns what owns an object, and what owns that."""
        found: list[Ref] = []
        rest = list(item.owners or ())
        if item.owners is None and item.resource == "pods":
            rest += self._makers(item)
        while rest and len(found) < 20:
            resource, name, _ = rest.pop()
            found.append((resource, name, item.namespace))
            owner = self._find(resource, name, item.namespace) if resource else None
            if owner is not None and owner.owners:
                rest += owner.owners
            elif resource == "replicasets":  # a Deployment names its ReplicaSets so
                found.append(("deployments", name.rpartition("-")[0], item.namespace))
            elif resource == "jobs":
                found.append(("cronjobs", name.rpartition("-")[0], item.namespace))
        return found

    def _makers(self, pod: _Item) -> Iterator[Ref]:
        """Yields workloads whose name the pod's name begins with: nothing else tells whose pod it is."""
        parts = pod.name.split("-")
        for count in range(1, min(len(parts), 20)):
            name = "-".join(parts[:count])
            for resource in ("deployments", "statefulsets", "daemonsets", "jobs"):
                yield resource, name, pod.namespace

    def _has_changed(self, ref: Ref, namespace: str | None) -> bool:
        resource, name, _ = ref
        if resource:
            spaces = self._configured.get((resource, name), [])
        else:
            spaces = [space for kind in _OWNERS for space in self._configured.get((kind, name), [])]
        return any(space is None or namespace is None or space == namespace for space in spaces)


_VERBS: Final = {
    "create": "create", "apply": "patch", "patch": "patch", "replace": "update", "delete": "delete", "scale": "patch",
    "restart": "patch",
}  # fmt: skip


def _space(asked: write.Write, item: _Item | None) -> str | None:
    """Returns the namespace of what is meant; None when nothing tells."""
    if asked.resource in kinds.CLUSTER:
        return None
    if item is not None:
        return item.namespace or asked.namespace
    return asked.namespace or (None if asked.everywhere else "default")


def _item(one: dict[str, Any]) -> _Item:
    """Reads an object of the state. One that is said not to be there is neither good nor bad."""
    metadata = fields.mapping(one, "metadata")
    kind = one.get("kind") or one.get("resource") or one.get("type")
    name, namespace = one.get("name") or metadata.get("name"), one.get("namespace") or metadata.get("namespace")
    if not isinstance(kind, str) or not isinstance(name, str):
        raise SeedError("each of clusterState.resources needs kind and name")
    status = one.get("status", one.get("phase", one.get("health")))
    word = _word(status)
    labels = one.get("labels") if isinstance(one.get("labels"), dict) else metadata.get("labels")
    owner_key = next((key for key in ("owner", "owners", "ownerReferences", "ownedBy") if key in one), None)
    owners = one[owner_key] if owner_key else metadata.get("ownerReferences")
    said = owner_key is not None or owners is not None
    refs = list(_refs(owners))
    return _Item(
        resource=kinds.resource(kind),
        name=name,
        namespace=namespace if isinstance(namespace, str) else None,
        good=None if word in _ABSENT else word in _GOOD or one.get("healthy") is True,
        labels={key: value for key, value in labels.items() if isinstance(value, str)}
        if isinstance(labels, dict)
        else {},
        owners=refs if said else None,
        uses=list(_refs(one.get("usedBy"))),
        images=tuple(dict.fromkeys(_images(one))),
        refs=[f"{_KIND_OF.get(resource, resource)}/{name}" for resource, name, _ in refs if resource],
    )


_KIND_OF: Final = {
    "deployments": "Deployment", "replicasets": "ReplicaSet", "statefulsets": "StatefulSet", "daemonsets": "DaemonSet",
    "jobs": "Job", "rollouts": "Rollout",
}  # fmt: skip


def _word(status: Any) -> str:
    """Returns the word that a status says first, in small letters."""
    if isinstance(status, dict):
        status = (
            status.get("phase") or status.get("health") or status.get("status") or status.get("state") or _ready(status)
        )
        if isinstance(status, dict):
            status = status.get("status")
    if not isinstance(status, str):
        return ""
    first = status.strip()[:80].replace("/", " ").replace("(", " ").replace(",", " ").split()
    return "".join(filter(str.isalpha, first[0].lower())) if first else ""


def _ready(status: dict[str, Any]) -> str:
    """Returns what counters and conditions say of an object."""
    wanted, ready = status.get("replicas"), status.get("readyReplicas", status.get("availableReplicas"))
    if isinstance(wanted, int) and isinstance(ready, int):
        return "healthy" if ready >= wanted > 0 else ""
    conditions = status.get("conditions")
    for one in conditions if isinstance(conditions, list) else ():
        if isinstance(one, dict) and one.get("type") in {"Ready", "Available"} and one.get("status") in {"True", True}:
            return "healthy"
    return ""


def _refs(value: Any) -> Iterator[Ref]:
    """Yields objects that are named: `Deployment/web`, `web`, `shop/Deployment/web`, or kind and name apart."""
    for one in value if isinstance(value, list) else [value]:
        if isinstance(one, dict) and isinstance(one.get("name"), str):
            kind, space = one.get("kind"), one.get("namespace")
            resource = kinds.resource(kind) if isinstance(kind, str) else ""
            yield resource, one["name"], space if isinstance(space, str) else None
        elif isinstance(one, str) and one.strip():
            parts = [part for part in one.strip().replace(":", "/").replace(" ", "/").split("/") if part]
            name = parts[-1]
            kind = next((part for part in reversed(parts[:-1]) if kinds.is_kind(part) or part[:1].isupper()), "")
            yield (kinds.resource(kind) if kind else ""), name, None


def _images(value: Any) -> Iterator[str]:
    """Yields the images in an object."""
    rest = [value]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest.extend(value)
        elif isinstance(value, dict):
            image = value.get("image")
            if isinstance(image, str) and image:
                yield image
            for key, member in value.items():
                if key == "images" and isinstance(member, list):
                    yield from (one for one in member if isinstance(one, str))
                rest.append(member)


def _stray(asked: write.Write) -> tuple[str, ...]:
    """Returns members that stand at the top of a manifest and belong deeper."""
    body = asked.body
    if not isinstance(body, dict) or not {"metadata", "spec", "apiVersion"} & body.keys():
        return ()
    return tuple(sorted(_STRAY & body.keys()))
