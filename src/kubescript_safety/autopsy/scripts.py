"""Reads Python scripts for kubescript's `evaluate_script`: their writes are found in the syntax tree. Nothing is run.

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
"""How many characters a string built by a script may have. Attack: a script runs `x = x + x` forty times."""
_STEPS: Final = 300, 2
"""How many statements and expressions are read: a fixed number, and more per character of the script. Those of a loop
count once per value. Attack: a script nests loops."""
_MAX_WRITES: Final = 20_000
_CHARACTERS: Final = 8
"""How many characters of a string passed to a call cost one step, because the string is read again."""
_MAX_DEPTH: Final = 40
_READS: Final = frozenset({"describe", "get", "list", "logs", "read", "watch"})
_CLUSTERS: Final = frozenset({"cluster", "k8s", "kubectl"})
"""Names by which scripts refer to the cluster."""
_PARTS: Final = frozenset({"get", "items", "values"})
"""Methods of an object that was read, which lead to its parts."""
_CODECS: Final = frozenset({"dump", "dumps", "load", "loads", "safe_load"})
_STARTS: Final = frozenset({"Popen", "call", "check_call", "check_output", "popen", "run", "system"})
"""Functions that run a command line."""


def is_script(text: str) -> bool:
    """Says whether the source is Python that calls Kubernetes."""
    marks = ("k8s.", "Api(", "_namespaced_", "subprocess.", "os.system")
    return any(mark in text for mark in marks)


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
    """Says whether a call reads objects."""
    holder = called.value
    # The dynamic client's `resources.get` finds a kind, not an object.
    if isinstance(holder, ast.Attribute) and holder.attr == "resources":
        return False
    return called.attr.partition("_")[0] in _READS


def of_script(text: str) -> list[write.Write]:
    """Returns a script's writes, in order; none if it is not valid Python."""
    if len(text) > _MAX:
        return []
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    steps = _STEPS[0] + _STEPS[1] * len(text)
    reader = _Reader(steps)
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
        """Counts steps. Raises _EnoughError when the script has no more."""
        self._left -= steps
        if self._left < 0 or len(self.found) > _MAX_WRITES:
            raise _EnoughError

    def _statement(self, one: ast.stmt) -> None:
        """Reads one statement."""
        if isinstance(one, ast.Assign):
            value = self._value(one.value)
            for target in one.targets:
                self._assign(target, value)
        # Without a value, the statement only declares the name.
        elif isinstance(one, ast.AnnAssign) and one.value is not None:
            self._assign(one.target, self._value(one.value))
        # An addition to a value is not followed.
        elif isinstance(one, ast.AugAssign):
            self._assign(one.target, clients.UNKNOWN)
        elif isinstance(one, ast.For):
            self._loop(one)
        # The writes of a branch may apply to only some of the objects.
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
        """Keeps a value under a name, in a dict, or as a field that was set in an object."""
        if isinstance(target, ast.Name):
            self._names[target.id] = value
            return
        holder = self._value(target)
        # `deployment.spec.replicas = 3` is what a later replace of the object changes.
        if isinstance(holder, clients.Ref) and holder.path:
            holder.sets.append(".".join(holder.path))
        elif isinstance(target, ast.Subscript):
            outer = self._value(target.value)
            key = self._value(target.slice)
            if isinstance(outer, dict) and isinstance(key, str):
                outer[key] = _drop_unknown(value)

    def _loop(self, loop: ast.For) -> None:
        """Reads the body once for each value that is known, and once where none is."""
        values = self._value(loop.iter)
        if isinstance(values, list):
            for value in values:
                self._spend(1)
                self._bind(loop.target, value)
                self.statements(loop.body)
            return
        # One object stands for all that a `get` of a kind has returned.
        value = values if isinstance(values, clients.Ref) else clients.UNKNOWN
        self._bind(loop.target, value)
        self.statements(loop.body)
        self.statements(loop.orelse)

    def _bind(self, target: ast.expr, value: Any) -> None:
        """Gives a loop's names their values."""
        if isinstance(target, ast.Name):
            self._names[target.id] = value
            return
        if not isinstance(target, ast.Tuple):
            return
        values = value
        if not isinstance(value, list) or len(value) != len(target.elts):
            values = [clients.UNKNOWN] * len(target.elts)
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
        """Returns what an expression stands for, by its kind."""
        for kinds_of_node, read in _EXPRESSIONS:
            if isinstance(node, kinds_of_node):
                return read(self, node)
        found: Any = clients.UNKNOWN
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.expr):
                found = self._value(part)
        if isinstance(node, ast.Await | ast.NamedExpr):
            return found
        return clients.UNKNOWN

    def _name(self, node: ast.Name) -> Any:
        """Returns the value of a name."""
        # A name that was never given a value belongs to the sandbox or to a module.
        return self._names.get(node.id, clients.UNKNOWN)

    def _dict(self, node: ast.Dict) -> Any:
        """Returns a dict with the keys that are known."""
        found = {}
        for key, value in zip(node.keys, node.values, strict=True):
            # `**other` has no key.
            if key is None:
                continue
            name = self._value(key)
            member = self._value(value)
            if isinstance(name, str):
                found[name] = _drop_unknown(member)
        return found

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> Any:
        """Returns a list of the values."""
        return [self._value(one) for one in node.elts]

    def _text(self, node: ast.JoinedStr) -> Any:
        """Returns a string with holes for what is unknown."""
        known = []
        for one in node.values:
            inner = one.value if isinstance(one, ast.FormattedValue) else one
            part = self._value(inner)
            known.append(str(part) if _is_short(part) else clients.HOLE)
        if sum(map(len, known)) < _MAX_TEXT:
            return "".join(known)
        return clients.UNKNOWN

    def _sum(self, node: ast.BinOp) -> Any:
        """Returns the concatenation of two strings; no other sums are computed."""
        left = self._value(node.left)
        right = self._value(node.right)
        if not isinstance(node.op, ast.Add) or not isinstance(left, str):
            return clients.UNKNOWN
        if not isinstance(right, str):
            right = clients.HOLE
        if len(left) + len(right) < _MAX_TEXT:
            return left + right
        return clients.UNKNOWN

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Any:
        """Returns the values of a comprehension; one object of the cluster stands for all."""
        first = node.generators[0]
        source = self._value(first.iter)
        is_filter = any(part.ifs for part in node.generators)
        self._conditions += is_filter
        found = []
        for value in source if isinstance(source, list) else [source]:
            self._bind(first.target, value)
            found.append(self._value(node.elt))
        self._conditions -= is_filter
        if isinstance(source, list):
            return found
        if isinstance(found[0], clients.Ref):
            return found[0]
        return clients.UNKNOWN

    def _member(self, node: ast.Attribute | ast.Subscript) -> Any:
        """Returns a member of a dict or list, or a field of an object."""
        outer = self._value(node.value)
        key = node.attr if isinstance(node, ast.Attribute) else self._value(node.slice)
        if isinstance(outer, dict) and isinstance(key, str):
            return outer.get(key, clients.UNKNOWN)
        if isinstance(outer, list) and isinstance(key, int) and -len(outer) <= key < len(outer):
            return outer[key]
        if not isinstance(outer, clients.Ref):
            return clients.UNKNOWN
        path = outer.path
        # Attack: `x = x.a`, in a loop, makes the path longer each time.
        if isinstance(key, str) and key != "items" and len(path) < _MAX_DEPTH:
            path = (*path, clients.camel(key))
        return dataclasses.replace(outer, path=path)

    def _call(self, node: ast.Call) -> Any:
        """Reads a call, and returns what its answer stands for."""
        positional = [self._value(one) for one in node.args if not isinstance(one, ast.Starred)]
        named = {one.arg: self._value(one.value) for one in node.keywords if one.arg}
        texts = [one for one in (*positional, *named.values()) if isinstance(one, str)]
        # Attack: a loop hands one long manifest to a thousand calls.
        self._spend(sum(map(len, texts)) // _CHARACTERS)
        if not isinstance(node.func, ast.Attribute):
            return self._plain_call(getattr(node.func, "id", ""), positional, named)
        name = node.func.attr
        holder = node.func.value
        if isinstance(holder, ast.Name) and holder.id in _CLUSTERS:
            return self._answer(clients.of_intent(name, positional, named))
        owner = self._value(holder)
        if isinstance(owner, clients.Ref) and name in _PARTS:
            return owner
        if name in _CODECS and positional:
            return _decode(name, positional[0])
        if name in _STARTS and positional:
            self._command(positional[0])
            return clients.UNKNOWN
        return self._plain_call(name, positional, named)

    def _plain_call(self, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
        """Reads a constructor of the official client, or one of its methods."""
        if not name.startswith(("V1", "V2")):
            return self._answer(clients.of_method(name, positional, named))
        members = {clients.camel(key): value for key, value in named.items() if value is not clients.UNKNOWN}
        # `V1Pod(metadata=…)` is an object; `V1ObjectMeta(name=…)` is a part of one.
        if "metadata" in members:
            return {"kind": name[2:]} | members
        return members

    def _answer(self, answer: clients.Answer) -> Any:
        """Keeps the writes of a call, and returns its answer."""
        writes, value = answer
        # Within an `if`, a write may apply to only some of the objects.
        is_narrowed = self._conditions > 0
        self.found += [dataclasses.replace(each, narrowed=is_narrowed) for each in writes]
        return value

    def _command(self, given: Any) -> None:
        """Reads a command line that the script starts."""
        if isinstance(given, str):
            self.found += commands.of_script(given)
        if not isinstance(given, list) or not given:
            return
        program, *rest = given
        if str(program).rpartition("/")[2] in {"kubectl", "oc"}:
            words = [one if isinstance(one, str) else "$unknown" for one in rest]
            self.found += commands.of_arguments(words)


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


def _drop_unknown(value: Any) -> Any:
    """Returns a value, and None for one that is known only at run time."""
    return None if value is clients.UNKNOWN else value


def _is_short(value: Any) -> bool:
    """Says whether a value may be formatted. Attack: a script has a number of a million digits, which takes minutes."""
    return isinstance(value, str) or (isinstance(value, int) and abs(value) < 1 << 64)


def _decode(name: str, given: Any) -> Any:
    """Returns what a function that writes or reads JSON or YAML returns."""
    # The call that gets the written value reads it again, whatever its form.
    if name in {"dumps", "dump"} or not isinstance(given, str):
        return given
    found = write.parse(given)
    if len(found) == 1:
        return found[0]
    return found
