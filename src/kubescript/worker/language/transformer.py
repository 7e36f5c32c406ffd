"""Source tree to guarded tree: RestrictedPython's transformer, with the Python that models write made safe.

RestrictedPython supplies the deny-by-default walk: a node without a `visit_` method is refused (`generic_visit`). Here
each kind of attribute access is sent to its guard (guards.py), stores go through `_write_`, and every name is checked
(identifiers.py). Item reads, iteration, unpacking and calls stay native: their guards would permit everything.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from RestrictedPython.transformer import RestrictingNodeTransformer

from kubescript.worker.language import identifiers, refusals

__all__ = ["Transformer"]

_PATTERN_TYPES: Final = frozenset({"str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "bytes"})


class Transformer(RestrictingNodeTransformer):
    """Transforms one module tree in place. Afterwards `findings`, `bound` and `returns_early` are filled."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[refusals.Finding] = []
        self.bound: set[str] = set()
        """Every name the script binds anywhere."""
        self.returns_early = False
        """Whether there is a `return` at the top level."""
        self._missing_builtins: list[ast.Name] = []
        self._pattern_names: list[tuple[ast.MatchClass, str]] = []
        self._depth = 0

    def error(self, node: ast.AST, info: str) -> None:
        """Record a refusal at the node's place."""
        line = getattr(node, "lineno", 0)
        column = getattr(node, "col_offset", 0)
        self.findings.append(refusals.Finding(line, column, info))

    def not_allowed(self, node: ast.AST) -> None:
        """The verdict on syntax without a rule: refused, with what to write instead where we know."""
        kind = type(node).__name__
        self.error(node, refusals.NODES.get(kind, f"{kind} is not available in scripts"))

    def finish(self) -> None:
        """The verdicts that need the whole script: builtins that are not there, and builtin types that were rebound."""
        for node in self._missing_builtins:
            if node.id not in self.bound:
                self.error(node, f"`{node.id}` is not available: {refusals.NAMES[node.id]}")
        for pattern, name in self._pattern_names:
            if name in self.bound:
                self.error(pattern, f"`{name}` is a variable of this script: rename it, or test with isinstance")

    # --- names ------------------------------------------------------------------------------------------------------

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """A name that is bound: variable, parameter, function, class, alias, capture."""
        if name is None:
            return
        self.bound.add(name)
        self._check(node, name, store=True)

    def _check(self, node: ast.AST, name: str, *, store: bool) -> None:
        try:
            identifiers.check_identifier(name, store=store)
        except identifiers.Refused as refused:
            self.error(node, str(refused))

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A load of `__name__` reads "__main__": the script is the main program."""
        if not isinstance(node.ctx, ast.Load):
            self.check_name(node, node.id)
            return node
        if node.id == "__name__":
            return ast.copy_location(ast.Constant("__main__"), node)
        if node.id in refusals.NAMES:
            self._missing_builtins.append(node)
        else:
            self._check(node, node.id, store=False)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        """Names are checked, so that no guard can be declared global and then bound."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Like `global`."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """The target is a Name and is checked as one."""
        return self.node_contents_visit(node)

    # --- attributes and items ---------------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`a.b` becomes `_getattr_(a, "b")`, or the guard for its kind of name; a store goes to `_write_(a).b`."""
        match node:
            case ast.Attribute(ast.Attribute(value, "__class__"), attr, ast.Load()) if attr in identifiers.OF_CLASS:
                kind = _call("_type_", self.visit(value))  # the name is all there is to be had of a `__class__`
                return ast.copy_location(_call("_getattr_", kind, ast.Constant(attr)), node)
        is_load = isinstance(node.ctx, ast.Load)
        access = self._access(node, store=not is_load)
        node = self.node_contents_visit(node)
        if is_load:
            call = _call(access.value, node.value, ast.Constant(node.attr))
            return ast.copy_location(call, node)
        guard = "_own_" if access is identifiers.Access.PRIVATE else "_write_"
        node.value = _call(guard, node.value)
        return node

    def _access(self, node: ast.Attribute, *, store: bool = False) -> identifiers.Access:
        try:
            return identifiers.access(node.attr, store=store)
        except identifiers.Refused as refused:
            self.error(node, str(refused))
            return identifiers.Access.PUBLIC

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """A read stays native; `a[k] = v` and `del a[k]` act on `_write_(a)`."""
        node = self.node_contents_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _call("_write_", node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Native, star arguments too."""
        return self.node_contents_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`x is None` becomes `_none_(x)`, which is true of an absent list or map too, as scripts of the official
        client expect of it."""
        compare: ast.Compare = self.node_contents_visit(node)
        match compare.ops, compare.comparators:
            case [ast.Is() | ast.IsNot() as operator], [ast.Constant(None)]:
                call = _call("_none_", compare.left)
                if isinstance(operator, ast.Is):
                    return call
                negated = ast.UnaryOp(ast.Not(), call)
                return ast.copy_location(negated, node)
        return compare

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """`{x:<9}` becomes `{_format_(x, "<9")}`, which aligns what has no formats of its own, such as None."""
        node = self.node_contents_visit(node)
        if node.format_spec is not None and node.conversion == -1:
            node.value = _call("_format_", node.value, node.format_spec)
            node.format_spec = None
        return node

    # --- assignments ------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Targets are guarded one by one; unpacking is native, and evaluates its value once. `__slots__` of plain
        names only saves memory: it is left out."""
        match node:
            case ast.Assign([ast.Name("__slots__")], ast.Tuple(slots) | ast.List(slots)) if _are_plain(slots):
                return ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`d[k] += 1` stays one statement on `_write_(d)`, so object and key are evaluated once.

        The attribute is read natively there. Attack: `s.format += spy`, which hands the raw method to `spy.__radd__`.
        """
        if isinstance(node.target, ast.Attribute) and node.target.attr in identifiers.SPECIAL:
            self.error(node, f"write `x.{node.target.attr} = x.{node.target.attr} + …`")
        return self.node_contents_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """The annotation is kept, dataclasses need it; at the top level it is dropped: the names are global there."""
        node = self.node_contents_visit(node)
        if self._depth or not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        assign = ast.Assign(targets=[node.target], value=node.value)
        return ast.copy_location(assign, node)

    # --- iteration and context --------------------------------------------------------------------------------------

    def guard_iter(self, node: Any) -> Any:
        """Loops and comprehensions iterate natively; the target is checked as a store."""
        if getattr(node, "is_async", 0):
            self.error(node.target, refusals.NODES["AsyncFor"])
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        """Targets are checked as stores."""
        return self.node_contents_visit(node)

    # --- functions and classes --------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Function and parameter names are checked, positional-only ones too (CVE-2026-55830)."""
        self.check_name(node, node.name)
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Parameter names are checked."""
        return self._function(node)

    def _function(self, node: Any) -> ast.AST:
        self.check_function_argument_names(node)
        self._depth += 1
        node = self.node_contents_visit(node)
        self._depth -= 1
        return node  # type: ignore[no-any-return]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """At the top level, `return x` ends the script with the result `x`."""
        self.returns_early = self.returns_early or not self._depth
        return self.node_contents_visit(node)

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        """Only inside a function; the function we wrap the script in must not become a generator."""
        self._require_function(node)
        return self.node_contents_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """As `yield`."""
        self._require_function(node)
        return self.node_contents_visit(node)

    def _require_function(self, node: ast.AST) -> None:
        if not self._depth:
            self.error(node, "`yield` outside a function: append to a list, and end the script with its name")

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """`class X(B)` becomes `class X(B, metaclass=__metaclass__)`: the factory picks a metaclass that fits."""
        self.check_name(node, node.name)
        for keyword in node.keywords:
            if keyword.arg != "total":
                self.error(keyword, f"the class keyword `{keyword.arg or '**'}` is not available: use a plain class")
        self._depth += 1
        node = self.node_contents_visit(node)
        self._depth -= 1
        metaclass = ast.Name("__metaclass__", ast.Load())
        node.keywords.append(ast.keyword("metaclass", metaclass))
        return node

    def visit_Module(self, node: ast.Module) -> ast.AST:
        """The body only; nothing is injected."""
        return self.node_contents_visit(node)

    # --- imports ----------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """The names that are bound are checked; what they bind is decided by the importer at run time."""
        for alias in node.names:
            self.check_name(node, alias.asname or alias.name.partition(".")[0])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """As `import`; the star is refused."""
        for alias in node.names:
            if alias.name == "*":
                self.error(node, f"`import *` is not available: name what you need, or write `import {node.module}`")
                continue
            self._check(node, alias.name, store=False)
            self.check_name(node, alias.asname or alias.name)
        return node

    # --- match ------------------------------------------------------------------------------------------------------

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """The subject and the bodies are ordinary code."""
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Pattern, guard, body."""
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """A dotted name must stay as it is in a pattern, so its parts are checked instead of guarded."""
        self._pattern_value(node.value)
        return node

    def _pattern_value(self, node: ast.AST) -> None:
        """Attack: `case text.format:` hands the raw method to the `__eq__` of the subject."""
        while isinstance(node, ast.Attribute):
            if self._access(node) is not identifiers.Access.PUBLIC:
                self.error(node, f"`.{node.attr}` in a pattern is not available: compare with `if`")
            node = node.value
        self.visit(node)

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.AST:
        """None, True, False."""
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> ast.AST:
        """Patterns inside are visited."""
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Keys are values, the rest is a capture."""
        for key in node.keys:
            self._pattern_value(key)
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        self.check_name(node, node.rest)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        """A capture."""
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        """A capture."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> ast.AST:
        """Alternatives are visited."""
        return self.node_contents_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Builtin types without attributes. Attack: `case object(__class__=c)` reads attributes past every guard."""
        name = node.cls.id if isinstance(node.cls, ast.Name) else ""
        if name not in _PATTERN_TYPES or node.kwd_attrs or len(node.patterns) > 1:
            known = ", ".join(sorted(_PATTERN_TYPES))
            self.error(
                node,
                f"class patterns work for {known} only, with at most one capture: write `case x if isinstance(x, …)`",
            )
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        self._pattern_names.append((node, name))
        return node

    # --- newer Pythons ----------------------------------------------------------------------------------------------

    def visit_TemplateStr(self, node: ast.AST) -> None:
        """Nothing here renders a template string."""
        self.not_allowed(node)

    def visit_Interpolation(self, node: ast.AST) -> None:
        """As TemplateStr."""
        self.not_allowed(node)


def _are_plain(constants: list[ast.expr]) -> bool:
    """Whether these are names without two underscores in front."""
    for constant in constants:
        name = constant.value if isinstance(constant, ast.Constant) else None
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            return False
    return True


def _call(guard: str, *args: ast.expr) -> ast.Call:
    function = ast.Name(guard, ast.Load())
    call = ast.Call(function, list(args), [])
    return ast.copy_location(call, args[0])
