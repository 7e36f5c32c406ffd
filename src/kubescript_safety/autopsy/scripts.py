"""Python scripts, as kubescript's `evaluate_script` takes them: their writes, read from the syntax. Nothing is run.

Known are `k8s.patch`, `k8s.delete` and the like, and the methods of the official client. Values are known as far as
they stand in the script: literals, names that hold one, loops over literal lists. A name that only the run could tell
is marked as guessed.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kubescript_safety.autopsy import commands, kinds, write

__all__ = ["is_script", "of_script"]

_MAX: Final = 1 << 20
_MAX_WRITES: Final = 2_000
_MAX_STEPS: Final = 50_000
"""Statements that are read, those of a loop once for each value."""
_MAX_DEPTH: Final = 40
_UNKNOWN: Final = object()
_HOLE: Final = "$"
"""Stands in a text for what only the run could tell. No name in Kubernetes holds it."""
_INTENTS: Final[dict[str, write.Does]] = {
    "annotate": "patch", "apply": "apply", "cordon": "patch", "create": "create", "delete": "delete",
    "delete_collection": "delete", "drain": "patch", "evict": "delete", "label": "patch", "patch": "patch",
    "remove": "delete", "replace": "replace", "restart": "restart", "scale": "scale", "set_image": "patch",
    "uncordon": "patch", "undo": "patch", "update": "patch",
}  # fmt: skip
_READS: Final = frozenset({"get", "list", "read", "describe"})
_CLIENT: Final[dict[str, write.Does]] = {
    "create": "create",
    "delete": "delete",
    "delete_collection": "delete",
    "patch": "patch",
    "replace": "replace",
}
_OPTIONS: Final = frozenset({"dry_run", "dryRun", "namespace", "ns", "label_selector", "labels_selector", "selector"})


@dataclass(slots=True)
class _Ref:
    """An object, or all of a kind, that the script has read."""

    resource: str
    name: str | None = None
    namespace: str | None = None
    selector: tuple[tuple[str, str], ...] = ()
    path: tuple[str, ...] = ()
    """The field of it that is meant."""
    sets: list[str] = field(default_factory=list)
    """Paths that the script has set in it."""


def is_script(text: str) -> bool:
    """Says whether the text is Python that calls something of Kubernetes."""
    return any(mark in text for mark in ("k8s.", "Api(", "_namespaced_", "subprocess.", "os.system"))


def of_script(text: str) -> list[write.Write]:
    """Returns the writes of a script, in its order; none when it is no Python."""
    if len(text) > _MAX:
        return []
    try:
        tree = ast.parse(text)
        reader = _Reader()
        reader.statements(tree.body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return reader.found


class _Reader:
    """Goes through a script, and keeps what its names stand for."""

    def __init__(self) -> None:
        self.found: list[write.Write] = []
        self._names: dict[str, Any] = {}
        self._depth = 0
        self._steps = 0

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Reads statements in their order."""
        for one in body:
            self._steps += 1
            if len(self.found) > _MAX_WRITES or self._steps > _MAX_STEPS:
                return
            self._statement(one)

    def _statement(self, one: ast.stmt) -> None:
        if isinstance(one, ast.Assign):
            value = self._value(one.value)
            for target in one.targets:
                self._assign(target, value)
        elif isinstance(one, ast.AnnAssign | ast.AugAssign) and one.value is not None:
            self._assign(one.target, self._value(one.value) if isinstance(one, ast.AnnAssign) else _UNKNOWN)
        elif isinstance(one, ast.For):
            self._loop(one)
        else:
            self._parts(one)

    def _parts(self, one: ast.AST) -> None:
        """Reads all that a statement holds: conditions, what `with` opens, blocks, handlers, cases."""
        for part in ast.iter_child_nodes(one):
            if isinstance(part, ast.expr):
                self._value(part)
            elif isinstance(part, ast.stmt):
                self.statements([part])
            elif isinstance(part, ast.withitem | ast.excepthandler | ast.match_case):
                self._parts(part)

    def _assign(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
            return
        holder = self._value(target)
        if isinstance(holder, _Ref) and holder.path:
            holder.sets.append(".".join(holder.path))
        elif isinstance(target, ast.Subscript):
            outer, key = self._value(target.value), self._value(target.slice)
            if isinstance(outer, dict) and isinstance(key, str):
                outer[key] = None if value is _UNKNOWN else value

    def _loop(self, loop: ast.For) -> None:
        values = self._value(loop.iter)
        if isinstance(values, list) and not isinstance(values, str):
            for value in values:
                if len(self.found) > _MAX_WRITES or self._steps > _MAX_STEPS:
                    return
                self._steps += 1
                self._bind(loop.target, value)
                self.statements(loop.body)
            return
        self._bind(loop.target, values if isinstance(values, _Ref) else _UNKNOWN)
        self.statements(loop.body)
        self.statements(loop.orelse)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, ast.Tuple):
            values = (
                value if isinstance(value, list) and len(value) == len(target.elts) else [_UNKNOWN] * len(target.elts)
            )
            for one, part in zip(target.elts, values, strict=True):
                self._bind(one, part)

    def _value(self, node: ast.expr) -> Any:
        """Returns what an expression stands for, and reads the calls in it."""
        if self._depth > _MAX_DEPTH:
            return _UNKNOWN
        self._depth += 1
        try:
            return self._expression(node)
        finally:
            self._depth -= 1

    def _expression(self, node: ast.expr) -> Any:
        for kinds_of_node, read in _EXPRESSIONS:
            if isinstance(node, kinds_of_node):
                return read(self, node)
        found: Any = _UNKNOWN
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                found = self._value(part)
        return found if isinstance(node, ast.Await | ast.NamedExpr) else _UNKNOWN

    def _name(self, node: ast.Name) -> Any:
        return self._names.get(node.id, _UNKNOWN)

    def _dict(self, node: ast.Dict) -> Any:
        pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        members = [(self._value(key), self._value(value)) for key, value in pairs]
        return {key: None if value is _UNKNOWN else value for key, value in members if isinstance(key, str)}

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        return [self._value(one) for one in node.elts]

    def _text(self, node: ast.JoinedStr) -> Any:
        inner = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
        parts = [self._value(one) for one in inner]
        return "".join(str(one) if isinstance(one, str | int) else _HOLE for one in parts)

    def _sum(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        if not isinstance(node.op, ast.Add) or not isinstance(left, str):
            return _UNKNOWN
        right = right if isinstance(right, str) else _HOLE
        return left + right if len(left) + len(right) < _MAX else _UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
        source = self._value(node.generators[0].iter)
        values = source if isinstance(source, list) else [source]
        found = []
        for value in values[:_MAX_WRITES]:
            self._bind(node.generators[0].target, value)
            found.append(self._value(node.elt))
        if isinstance(source, list):
            return found
        return found[0] if isinstance(found[0], _Ref) else _UNKNOWN

    def _member(self, node: ast.Attribute | ast.Subscript) -> Any:
        outer = self._value(node.value)
        key = node.attr if isinstance(node, ast.Attribute) else self._value(node.slice)
        if isinstance(outer, dict) and isinstance(key, str):
            return outer.get(key, _UNKNOWN)
        if isinstance(outer, list) and isinstance(key, int) and -len(outer) <= key < len(outer):
            return outer[key]
        if not isinstance(outer, _Ref):
            return _UNKNOWN
        if key == "items" or not isinstance(key, str):
            path = outer.path if key == "items" else (*outer.path,)
        else:
            path = (*outer.path, _camel(key))
        return _Ref(outer.resource, outer.name, outer.namespace, outer.selector, path, outer.sets)

    def _call(self, node: ast.Call) -> Any:
        positional = [self._value(one) for one in node.args if not isinstance(one, ast.Starred)]
        named = {one.arg: self._value(one.value) for one in node.keywords if one.arg}
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else node.func.id
            if isinstance(node.func, ast.Name)
            else ""
        )
        if isinstance(node.func, ast.Attribute):
            holder = node.func.value
            if isinstance(holder, ast.Name) and holder.id in {"k8s", "kubectl", "cluster"}:
                return self._intent(name, positional, named)
            owner = self._value(holder)
            if isinstance(owner, _Ref) and name in {"get", "items", "values"}:
                return owner
            if name in {"dumps", "loads", "safe_load", "load", "dump"} and positional:
                return _decoded(name, positional[0])
            if name in {"run", "system", "check_call", "check_output", "call", "Popen", "popen"} and positional:
                self._command(positional[0])
                return _UNKNOWN
        if name.startswith(("V1", "V2")):
            members = {_camel(key): value for key, value in named.items() if value is not _UNKNOWN}
            return {"kind": name[2:]} | members if "metadata" in members else members
        return self._method(name, positional, named)

    def _command(self, given: Any) -> None:
        if isinstance(given, str):
            self.found += commands.of_script(given)
        elif isinstance(given, list) and given and str(given[0]).rpartition("/")[2] in {"kubectl", "oc"}:
            self.found += commands.of_arguments([one if isinstance(one, str) else "$unknown" for one in given[1:]])

    def _intent(self, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
        """Reads `k8s.patch("deployments/web", …, namespace="shop")`, with kind and name apart or together."""
        ref = self._about(positional, named)
        if name in _READS or name not in _INTENTS:
            return ref if ref is not None else _UNKNOWN
        if ref is None:
            return _UNKNOWN
        does = _INTENTS[name]
        bodies = [one for one in (*positional, *named.values()) if isinstance(one, dict | list)]
        manifests = write.documents(bodies) if does in {"apply", "create", "replace"} else []
        is_dry = any(named.get(key) not in (None, False, _UNKNOWN) for key in ("dry_run", "dryRun"))
        if manifests:
            for one in manifests:
                self.found.append(write.of_manifest(does, _clean(one), ref.namespace, is_dry=is_dry))
            return _UNKNOWN
        said = [one for one in positional if isinstance(one, str)]
        texts = [one for one in said if (":" in one and "\n" in one) or one.startswith("{")]
        if does in {"apply", "create", "replace"} and texts:
            for one in write.documents(texts):
                self.found.append(write.of_manifest(does, one, ref.namespace, is_dry=is_dry))
            return _UNKNOWN
        if does == "patch" and not bodies:
            bodies = [one for text in texts for one in write.parsed(text)]
        self._add(does, ref, bodies[-1] if bodies else None, _paths(name, named, ref), is_dry=is_dry)
        return ref

    def _about(self, positional: list[Any], named: dict[str, Any]) -> _Ref | None:
        """Returns which object is meant."""
        space = _first(named, "namespace", "ns")
        first = next((one for one in (*positional[:1], *named.values()) if isinstance(one, _Ref)), None)
        if first is not None:
            return _Ref(first.resource, first.name, space or first.namespace, first.selector, (), first.sets)
        document = next(
            (one for one in (*positional, *named.values()) if isinstance(one, dict) and "kind" in one), None
        )
        words = [one for one in positional if isinstance(one, str) or one is _UNKNOWN or isinstance(one, _Ref)]
        if (
            words
            and isinstance(words[0], str)
            and (words[0] == "v1" or words[0].rpartition("/")[2][:2] in {"v1", "v2"})
        ):
            words = words[1:]
        kind = _first(named, "kind", "resource", "type")
        name: Any = named.get("name")
        if kind is None and words and isinstance(words[0], str):
            kind, words = words[0], words[1:]
        if document is not None and (kind is None or ":" in kind):
            return _Ref("", None, space)
        if kind is None:
            return None
        if "/" in kind and "name" not in named and kinds.is_kind(kind.partition("/")[0]):
            kind, _, name = kind.partition("/")
        elif name is None and words:
            name, words = words[0], words[1:]
        if space is None and words and isinstance(words[0], str) and "\n" not in words[0] and "{" not in words[0]:
            space = words[0]
        selector = _pairs(_first(named, "label_selector", "selector", "labels"))
        return _Ref(kinds.resource(kind), name if isinstance(name, str) else None, space, selector)

    def _method(self, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
        """Reads a method of the official client."""
        prefix = next(
            (
                one
                for one in ("delete_collection", "create", "delete", "patch", "replace", "read", "list")
                if name.startswith(one + "_")
            ),
            "",
        )
        if not prefix:
            return _UNKNOWN
        rest = name.removeprefix(prefix + "_")
        is_namespaced = rest.startswith("namespaced_")
        rest = rest.removeprefix("namespaced_").removesuffix("_for_all_namespaces")
        order = (
            ([] if prefix in {"create", "list", "delete_collection"} else ["name"])
            + (["namespace"] if is_namespaced else [])
            + ["body"]
        )
        if rest.endswith("_custom_object") or rest == "custom_object" or name.endswith("cluster_custom_object"):
            order = [
                "group",
                "version",
                *(["namespace"] if is_namespaced else []),
                "plural",
                *([] if prefix in {"create", "list"} else ["name"]),
                "body",
            ]
        if rest.endswith("_eviction"):
            order, prefix, rest = ["name", "namespace", "body"], "delete", rest.removesuffix("_eviction")
        given = dict(zip(order, positional, strict=False)) | named
        is_scale = rest.endswith("_scale")
        resource = kinds.resource(rest.removesuffix("_scale").removesuffix("_status").replace("_", ""))
        if isinstance(given.get("plural"), str):
            resource = kinds.resource(given["plural"])
        target, body = given.get("name"), given.get("body")
        space = given.get("namespace")
        if prefix == "create" and isinstance(body, dict):
            target = body.get("metadata", {}).get("name") if isinstance(body.get("metadata"), dict) else None
        ref = _Ref(resource, target if isinstance(target, str) else None, space if isinstance(space, str) else None,
                   _pairs(given.get("label_selector")))  # fmt: skip
        if isinstance(target, _Ref) and ref.name is None:
            ref = _Ref(resource, target.name, ref.namespace or target.namespace, target.selector)
        if prefix in {"read", "list"} or rest.endswith("_status"):
            return ref
        sets = tuple(body.sets) if isinstance(body, _Ref) else ()
        does: write.Does = "scale" if is_scale else _CLIENT[prefix]
        is_dry = given.get("dry_run") not in (None, False, _UNKNOWN)
        self._add(does, ref, body if isinstance(body, dict | list) and does != "delete" else None, sets, is_dry=is_dry,
                  is_all=prefix == "delete_collection")  # fmt: skip
        return ref

    def _add(
        self, does: write.Does, ref: _Ref, body: Any, paths: tuple[str, ...], *, is_dry: bool, is_all: bool = False
    ) -> None:
        name = None if ref.name is not None and _HOLE in ref.name else ref.name
        self.found.append(
            write.Write(
                does, ref.resource, name, ref.namespace, ref.selector, body=_clean(body), fields=paths, is_dry=is_dry,
                guessed=name is None and not is_all and does != "create",
            )
        )  # fmt: skip


_EXPRESSIONS: Final[tuple[tuple[Any, Callable[[_Reader, Any], Any]], ...]] = (
    (ast.Constant, lambda _, node: node.value),
    (ast.Name, _Reader._name),
    (ast.Dict, _Reader._dict),
    ((ast.List, ast.Tuple, ast.Set), _Reader._list),
    (ast.JoinedStr, _Reader._text),
    (ast.BinOp, _Reader._sum),
    ((ast.Attribute, ast.Subscript), _Reader._member),
    (ast.Call, _Reader._call),
    ((ast.ListComp, ast.SetComp, ast.GeneratorExp), _Reader._comprehension),
)
"""Kinds of expressions, and how each is read."""


def _decoded(name: str, given: Any) -> Any:
    if name in {"dumps", "dump"} or not isinstance(given, str):
        return given
    found = write.parsed(given)
    return found[0] if len(found) == 1 else found


def _paths(name: str, named: dict[str, Any], ref: _Ref) -> tuple[str, ...]:
    """Returns what an intent sets beside its body."""
    if name == "scale":
        return ("spec.replicas",)
    if name == "set_image":
        return ("spec.template.spec.containers.image",)
    if name in {"label", "annotate"}:
        part = "labels" if name == "label" else "annotations"
        return tuple(f"metadata.{part}.{key}" for key in named if key not in _OPTIONS) or (f"metadata.{part}",)
    return tuple(ref.sets)


def _first(named: dict[str, Any], *keys: str) -> Any:
    return next((named[key] for key in keys if isinstance(named.get(key), str)), None)


def _pairs(text: Any) -> tuple[tuple[str, str], ...]:
    parts = [part.partition("=") for part in text.split(",")] if isinstance(text, str) else []
    return tuple((key.strip(), value.lstrip("=").strip()) for key, sign, value in parts if sign)


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(map(str.title, rest))


def _clean(value: Any) -> Any:
    """Returns the value with None for all that is not known."""
    return json.loads(json.dumps(value, default=lambda _: None)) if value is not None else None
