"""Python scripts for kubescript's `evaluate_script`: their writes, read from the syntax tree. Nothing is run.

Supported are calls such as `k8s.patch` and `k8s.delete`, and the official client's methods. Values are known if they
are written in the script: literals, names bound to them, loops over literal lists. A name known only at run time is
marked as guessed.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Final

from kubescript_safety.autopsy import clients, commands, write

__all__ = ["has_read", "is_script", "of_script"]

_MAX: Final = 1 << 20
_MAX_TEXT: Final = 1 << 15
"""How many characters a text built by a script may have. Attack: a script runs `x = x + x` forty times."""
_STEPS: Final = 300, 2
"""How many statements and expressions are read: a base, and more per character of the script. Those of a loop count
once per value. Attack: a script nests loops."""
_MAX_WRITES: Final = 20_000
_CHARACTERS: Final = 8
"""How many characters of a text passed to a call cost one step, because the text is read again."""
_MAX_DEPTH: Final = 40
_READS: Final = frozenset({"describe", "get", "list", "logs", "read", "watch"})


def is_script(text: str) -> bool:
    """Says whether the text is Python that calls Kubernetes."""
    return any(mark in text for mark in ("k8s.", "Api(", "_namespaced_", "subprocess.", "os.system"))


def has_read(text: str) -> bool:
    """Says whether a script calls something that reads, judging by the first word of its name: `k8s.get`,
    `list_node`."""
    try:
        tree = ast.parse(text[:_MAX])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return any(isinstance(one, ast.Attribute) and _is_read(one) for one in called)


def _is_read(called: ast.Attribute) -> bool:
    """Says whether a call reads objects. The dynamic client's `resources.get` finds a kind, not an object."""
    is_kind = isinstance(called.value, ast.Attribute) and called.value.attr == "resources"
    return called.attr.partition("_")[0] in _READS and not is_kind


def of_script(text: str) -> list[write.Write]:
    """Returns a script's writes, in order; none if it is not valid Python."""
    if len(text) > _MAX:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    reader = _Reader(_STEPS[0] + _STEPS[1] * len(text))
    with contextlib.suppress(_EnoughError, RecursionError):
        reader.statements(tree.body)
    return reader.found


class _EnoughError(Exception):
    """The script needs more steps than are read."""


class _Reader:
    """Walks through a script, and tracks the values of its names."""

    def __init__(self, steps: int) -> None:
        self.found: list[write.Write] = []
        self._names: dict[str, Any] = {}
        self._depth = 0
        self._conditions = 0
        """How many conditions enclose the current statement."""
        self._left = steps

    def statements(self, body: Sequence[ast.stmt]) -> None:
        """Reads statements in order."""
        for one in body:
            self._spend(1)
            self._statement(one)

    def _spend(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0 or len(self.found) > _MAX_WRITES:
            raise _EnoughError

    def _statement(self, one: ast.stmt) -> None:
        if isinstance(one, ast.Assign):
            value = self._value(one.value)
            for target in one.targets:
                self._assign(target, value)
        elif isinstance(one, ast.AnnAssign | ast.AugAssign) and one.value is not None:
            self._assign(one.target, self._value(one.value) if isinstance(one, ast.AnnAssign) else clients.UNKNOWN)
        elif isinstance(one, ast.For):
            self._loop(one)
        elif isinstance(one, ast.If | ast.Match):
            self._conditions += 1
            self._parts(one)
            self._conditions -= 1
        else:
            self._parts(one)

    def _parts(self, one: ast.AST) -> None:
        """Reads all parts of a statement: conditions, `with` items, blocks, handlers, cases."""
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
        if isinstance(holder, clients.Ref) and holder.path:
            holder.sets.append(".".join(holder.path))
        elif isinstance(target, ast.Subscript):
            outer, key = self._value(target.value), self._value(target.slice)
            if isinstance(outer, dict) and isinstance(key, str):
                outer[key] = None if value is clients.UNKNOWN else value

    def _loop(self, loop: ast.For) -> None:
        values = self._value(loop.iter)
        if isinstance(values, list):
            for value in values:
                self._spend(1)
                self._bind(loop.target, value)
                self.statements(loop.body)
            return
        self._bind(loop.target, values if isinstance(values, clients.Ref) else clients.UNKNOWN)
        self.statements(loop.body)
        self.statements(loop.orelse)

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._names[target.id] = value
        elif isinstance(target, ast.Tuple):
            values = (
                value
                if isinstance(value, list) and len(value) == len(target.elts)
                else [clients.UNKNOWN] * len(target.elts)
            )
            for one, part in zip(target.elts, values, strict=True):
                self._bind(one, part)

    def _value(self, node: ast.expr) -> Any:
        """Returns an expression's value, and records the calls in it."""
        self._spend(1)
        if self._depth > _MAX_DEPTH:
            return clients.UNKNOWN
        self._depth += 1
        try:
            return self._expression(node)
        finally:
            self._depth -= 1

    def _expression(self, node: ast.expr) -> Any:
        for kinds_of_node, read in _EXPRESSIONS:
            if isinstance(node, kinds_of_node):
                return read(self, node)
        found: Any = clients.UNKNOWN
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                found = self._value(part)
        return found if isinstance(node, ast.Await | ast.NamedExpr) else clients.UNKNOWN

    def _name(self, node: ast.Name) -> Any:
        return self._names.get(node.id, clients.UNKNOWN)

    def _dict(self, node: ast.Dict) -> Any:
        pairs = [(key, value) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        members = [(self._value(key), self._value(value)) for key, value in pairs]
        return {key: None if value is clients.UNKNOWN else value for key, value in members if isinstance(key, str)}

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        return [self._value(one) for one in node.elts]

    def _text(self, node: ast.JoinedStr) -> Any:
        inner = [one.value if isinstance(one, ast.FormattedValue) else one for one in node.values]
        parts = [self._value(one) for one in inner]
        known = [str(one) if _is_short(one) else clients.HOLE for one in parts]
        return "".join(known) if sum(map(len, known)) < _MAX_TEXT else clients.UNKNOWN

    def _sum(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        if not isinstance(node.op, ast.Add) or not isinstance(left, str):
            return clients.UNKNOWN
        right = right if isinstance(right, str) else clients.HOLE
        return left + right if len(left) + len(right) < _MAX_TEXT else clients.UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
        source = self._value(node.generators[0].iter)
        values = source if isinstance(source, list) else [source]
        found = []
        is_filter = any(part.ifs for part in node.generators)
        self._conditions += is_filter
        for value in values:
            self._bind(node.generators[0].target, value)
            found.append(self._value(node.elt))
        self._conditions -= is_filter
        if isinstance(source, list):
            return found
        return found[0] if isinstance(found[0], clients.Ref) else clients.UNKNOWN

    def _member(self, node: ast.Attribute | ast.Subscript) -> Any:
        outer = self._value(node.value)
        key = node.attr if isinstance(node, ast.Attribute) else self._value(node.slice)
        if isinstance(outer, dict) and isinstance(key, str):
            return outer.get(key, clients.UNKNOWN)
        if isinstance(outer, list) and isinstance(key, int) and -len(outer) <= key < len(outer):
            return outer[key]
        if not isinstance(outer, clients.Ref):
            return clients.UNKNOWN
        is_field = isinstance(key, str) and key != "items" and len(outer.path) < _MAX_DEPTH
        path = (*outer.path, clients.camel(key)) if is_field else outer.path
        return clients.Ref(outer.resource, outer.name, outer.namespace, outer.selector, path, outer.sets)

    def _call(self, node: ast.Call) -> Any:
        positional = [self._value(one) for one in node.args if not isinstance(one, ast.Starred)]
        named = {one.arg: self._value(one.value) for one in node.keywords if one.arg}
        self._spend(sum(len(one) for one in (*positional, *named.values()) if isinstance(one, str)) // _CHARACTERS)
        name = str(getattr(node.func, "attr", "") or getattr(node.func, "id", ""))
        if isinstance(node.func, ast.Attribute):
            holder = node.func.value
            if isinstance(holder, ast.Name) and holder.id in {"k8s", "kubectl", "cluster"}:
                return self._answer(clients.of_intent(name, positional, named))
            owner = self._value(holder)
            if isinstance(owner, clients.Ref) and name in {"get", "items", "values"}:
                return owner
            if name in {"dumps", "loads", "safe_load", "load", "dump"} and positional:
                return _decode(name, positional[0])
            if name in {"run", "system", "check_call", "check_output", "call", "Popen", "popen"} and positional:
                self._command(positional[0])
                return clients.UNKNOWN
        if name.startswith(("V1", "V2")):
            members = {clients.camel(key): value for key, value in named.items() if value is not clients.UNKNOWN}
            return {"kind": name[2:]} | members if "metadata" in members else members
        return self._answer(clients.of_method(name, positional, named))

    def _answer(self, answer: clients.Answer) -> Any:
        self.found += [dataclasses.replace(each, narrowed=self._conditions > 0) for each in answer[0]]
        return answer[1]

    def _command(self, given: Any) -> None:
        if isinstance(given, str):
            self.found += commands.of_script(given)
        elif isinstance(given, list) and given and str(given[0]).rpartition("/")[2] in {"kubectl", "oc"}:
            self.found += commands.of_arguments([one if isinstance(one, str) else "$unknown" for one in given[1:]])


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
"""Kinds of expressions, and the function that reads each."""


def _is_short(value: Any) -> bool:
    """Says whether a value may be formatted. Attack: a script has a number of a million digits, which takes minutes."""
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 1 << 64)


def _decode(name: str, given: Any) -> Any:
    if name in {"dumps", "dump"} or not isinstance(given, str):
        return given
    found = write.parse(given)
    return found[0] if len(found) == 1 else found
