"""Transforms a script's syntax tree to one that calls the guards. Called by compiler.py.

RestrictedPython supplies the walk, which denies by default: a node without a `visit_` method is refused
(`generic_visit`). This subclass admits the Python that models write: it sends each kind of attribute access to its
guard (guards.py) and stores to `_write_`, and checks every name (identifiers.py). Item reads, iteration, unpacking and
calls stay native, because their guards would permit everything.
"""

from __future__ import annotations

import ast
from typing import Any, Final

from RestrictedPython.transformer import RestrictingNodeTransformer

from kubescript_sandbox.language import identifiers, refusals, truths

__all__ = ["Transformer"]

_PATTERN_TYPES: Final = frozenset({"str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "bytes"})


class Transformer(RestrictingNodeTransformer):
    """Transforms one module tree in place; fills `findings`, `bound` and `returns_early`."""

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
        self._tested: dict[int, ast.expr] = {}

    def visit_script(self, tree: ast.Module) -> None:
        """Transforms a whole script."""
        self._tested = truths.find(tree)
        self.visit(tree)

    def visit(self, node: ast.AST) -> Any:
        """Visits a node; one that is only tested for its truth becomes `_tested_(_asked_(), …)`."""
        found = super().visit(node)
        if id(node) not in self._tested:
            return found
        asked = ast.copy_location(ast.Call(ast.Name("_asked_", ast.Load()), [], []), node)
        return _call("_tested_", asked, found)

    def error(self, node: ast.AST, info: str) -> None:
        """Adds a finding at the node's position."""
        line = getattr(node, "lineno", 0)
        column = getattr(node, "col_offset", 0)
        self.findings.append(refusals.Finding(line, column, info))

    def not_allowed(self, node: ast.AST) -> None:
        """Refuses syntax without a rule, with advice where there is any."""
        kind = type(node).__name__
        self.error(node, refusals.about_syntax(kind))

    def finish(self) -> None:
        """Checks what depends on the whole script: uses of unavailable builtins, and builtin types in patterns that the
        script has rebound."""
        for node in self._missing_builtins:
            if node.id not in self.bound:
                self.error(node, f"`{node.id}` is not available: {refusals.about_name(node.id)}")
        for pattern, name in self._pattern_names:
            if name in self.bound:
                self.error(pattern, f"`{name}` is a variable of this script: rename it, or test with isinstance")

    # --- names ------------------------------------------------------------------------------------------------------

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Checks a name that the script binds: a variable, parameter, function, class, alias or capture."""
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
        """Checks the name. A load of `__name__` becomes "__main__": the script is the main program."""
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
        """Checks the names."""
        # Attack: a script declares a guard global and then binds it to something else.
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_Nonlocal(self, node: ast.Nonlocal) -> ast.AST:
        """Checks the names like those of `global`."""
        for name in node.names:
            self.check_name(node, name)
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """Visits the parts: the target is a Name and is checked as one."""
        return self.node_contents_visit(node)

    # --- attributes and items ---------------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Turns `a.b` into `_getattr_(a, "b")`, or the guard for its kind of name; a store goes to `_write_(a).b`."""
        match node:
            case ast.Attribute(ast.Attribute(value, "__class__"), attr, ast.Load()) if attr in identifiers.OF_CLASS:
                kind = _call("_type_", self.visit(value))  # only the name of a `__class__` may be read
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
        """Keeps a read native; `a[k] = v` and `del a[k]` act on `_write_(a)`."""
        node = self.node_contents_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _call("_write_", node.value)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Keeps calls native, including those with star arguments."""
        return self.node_contents_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Turns `x is None` into `_none_(x)`, which is also true of a missing list or map."""
        # Scripts written for the official client expect that.
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
        """Turns `{x:<9}` into `{_format_(x, "<9")}`, which also aligns values that define no formats, such as None."""
        node = self.node_contents_visit(node)
        if node.format_spec is not None and node.conversion == -1:
            node.value = _call("_format_", node.value, node.format_spec)
            node.format_spec = None
        return node

    # --- assignments ------------------------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """Guards the targets one by one; unpacking is native and evaluates its value once. `__slots__` with plain names
        only saves memory and is left out."""
        match node:
            case ast.Assign([ast.Name("__slots__")], ast.Tuple(slots) | ast.List(slots)) if _are_plain(slots):
                return ast.copy_location(ast.Pass(), node)
        return self.node_contents_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """Keeps `d[k] += 1` one statement on `_write_(d)`, so object and key are evaluated once.

        It reads the attribute natively. Attack: a script writes `s.format += spy`, which hands the raw method to
        `spy.__radd__`.
        """
        if not isinstance(node.target, ast.Attribute):
            return self.node_contents_visit(node)
        name = node.target.attr
        if name in identifiers.SPECIAL:
            self.error(node, f"write `x.{name} = x.{name} + …`")
        self._access(node.target, store=True)
        node.target.value = _call("_augmented_", self.visit(node.target.value), ast.Constant(name))
        node.value = self.visit(node.value)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Keeps the annotation inside classes and functions, because dataclasses need it. Drops it at the top level,
        whose names are global."""
        node = self.node_contents_visit(node)
        if self._depth or not isinstance(node.target, ast.Name):
            return node
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        assign = ast.Assign(targets=[node.target], value=node.value)
        return ast.copy_location(assign, node)

    # --- iteration and context --------------------------------------------------------------------------------------

    def guard_iter(self, node: Any) -> Any:
        """Keeps the iteration of loops and comprehensions native; checks the target as a store."""
        if getattr(node, "is_async", 0):
            self.error(node.target, refusals.about_syntax("AsyncFor"))
        return self.node_contents_visit(node)

    def visit_With(self, node: ast.With) -> ast.AST:
        """Checks the targets as stores."""
        return self.node_contents_visit(node)

    # --- functions and classes --------------------------------------------------------------------------------------

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Checks the names of the function and its parameters, including positional-only ones (CVE-2026-55830)."""
        self.check_name(node, node.name)
        return self._function(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Checks the names of the parameters."""
        return self._function(node)

    def _function(self, node: Any) -> ast.AST:
        self.check_function_argument_names(node)
        self._depth += 1
        node = self.node_contents_visit(node)
        self._depth -= 1
        return node  # type: ignore[no-any-return]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Notes a `return` at the top level: it ends the script with that result."""
        self.returns_early = self.returns_early or not self._depth
        return self.node_contents_visit(node)

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        """Refuses `yield` outside a function."""
        # The function that compiler.py wraps around the script would become a generator.
        self._require_function(node)
        return self.node_contents_visit(node)

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """Refuses `yield from` where `yield` is refused."""
        self._require_function(node)
        return self.node_contents_visit(node)

    def _require_function(self, node: ast.AST) -> None:
        if not self._depth:
            self.error(node, "`yield` outside a function: append to a list, and end the script with its name")

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Turns `class X(B)` into `class X(B, metaclass=__metaclass__)`: the factory picks a suitable metaclass."""
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
        """Visits the body; RestrictedPython would add statements here."""
        return self.node_contents_visit(node)

    # --- imports ----------------------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> ast.AST:
        """Checks the names that are bound. The importer decides at run time what they are bound to."""
        for alias in node.names:
            self.check_name(node, alias.asname or alias.name.partition(".")[0])
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        """Checks the names, and refuses the star."""
        for alias in node.names:
            if alias.name == "*":
                self.error(node, f"`import *` is not available: name what you need, or write `import {node.module}`")
                continue
            self._check(node, alias.name, store=False)
            self.check_name(node, alias.asname or alias.name)
        return node

    # --- match ------------------------------------------------------------------------------------------------------

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Visits the subject and the cases."""
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Visits pattern, guard and body."""
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """Reads a dotted name through the guards; the comparison is native."""
        node.value = self._pattern_value(node.value)
        return node

    def _pattern_value(self, node: ast.expr) -> Any:
        """Returns a guarded value for a pattern. Attack: a script writes `case text.format:`, which hands the raw
        method to the subject's `__eq__`. A pattern must be an attribute or a literal, so it becomes
        `_box_(…).value`."""
        part: ast.AST = node
        while isinstance(part, ast.Attribute):
            if self._access(part) is not identifiers.Access.PUBLIC:
                self.error(node, f"`.{part.attr}` in a pattern is not available: compare with `if`")
            part = part.value
        value = self.visit(node)
        return _attribute(_call("_box_", value), "value") if isinstance(node, ast.Attribute) else value

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.AST:
        """Keeps None, True and False."""
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> ast.AST:
        """Visits the patterns inside."""
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Checks keys as values, and the rest as a capture."""
        node.keys = [self._pattern_value(key) for key in node.keys]
        node.patterns = [self.visit(pattern) for pattern in node.patterns]
        self.check_name(node, node.rest)
        return node

    def visit_MatchStar(self, node: ast.MatchStar) -> ast.AST:
        """Checks the name of the capture."""
        self.check_name(node, node.name)
        return node

    def visit_MatchAs(self, node: ast.MatchAs) -> ast.AST:
        """Checks the name of the capture."""
        self.check_name(node, node.name)
        return self.node_contents_visit(node)

    def visit_MatchOr(self, node: ast.MatchOr) -> ast.AST:
        """Visits the alternatives."""
        return self.node_contents_visit(node)

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """Admits builtin types without attributes."""
        # Attack: a script writes `case object(__class__=c)`, which reads an attribute without a guard.
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
        """Refuses template strings."""
        self.not_allowed(node)

    def visit_Interpolation(self, node: ast.AST) -> None:
        """Refuses the parts of template strings."""
        self.not_allowed(node)


def _are_plain(constants: list[ast.expr]) -> bool:
    """Says whether all constants are names without two leading underscores."""
    for constant in constants:
        name = constant.value if isinstance(constant, ast.Constant) else None
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("__"):
            return False
    return True


def _attribute(value: ast.expr, name: str) -> ast.Attribute:
    return ast.copy_location(ast.Attribute(value, name, ast.Load()), value)


def _call(guard: str, *args: ast.expr) -> ast.Call:
    function = ast.Name(guard, ast.Load())
    call = ast.Call(function, list(args), [])
    return ast.copy_location(call, args[0])
