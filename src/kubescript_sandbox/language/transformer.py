"""Transforms a script's syntax tree to one that calls the guards. Called by compiler.py.

RestrictedPython supplies the walk, which denies by default: a node without a `visit_` method is refused
(`generic_visit`). This subclass admits the Python that models write: it sends each kind of attribute access to its
guard (guards.py) and stores to `_write_`, and checks every name (identifiers.py). Item reads, iteration, unpacking and
calls stay native, because their guards would permit everything.
"""

from __future__ import annotations

import ast
from typing import Any

from kubescript_sandbox.language import identifiers, pattern_rules, refusals, truths
from kubescript_sandbox.language.name_rules import call_guard

__all__ = ["Transformer"]


class Transformer(pattern_rules.PatternRules):
    """Transforms one module tree in place; fills `findings`, `bound` and `returns_early`."""

    def __init__(self) -> None:
        super().__init__()
        self.returns_early = False
        """Whether there is a `return` at the top level."""
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
        return call_guard("_tested_", asked, found)

    # --- attributes and items ---------------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Turns `a.b` into `_getattr_(a, "b")`, or the guard for its kind of name; a store goes to `_write_(a).b`."""
        match node:
            case ast.Attribute(ast.Attribute(value, "__class__"), attr, ast.Load()) if attr in identifiers.OF_CLASS:
                kind = call_guard("_type_", self.visit(value))  # only the name of a `__class__` may be read
                return ast.copy_location(call_guard("_getattr_", kind, ast.Constant(attr)), node)
        is_load = isinstance(node.ctx, ast.Load)
        access = self.find_access(node, store=not is_load)
        node = self.node_contents_visit(node)
        if is_load:
            read = call_guard(access.value, node.value, ast.Constant(node.attr))
            return ast.copy_location(read, node)
        guard = "_own_" if access is identifiers.Access.PRIVATE else "_write_"
        node.value = call_guard(guard, node.value)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Keeps a read native; `a[k] = v` and `del a[k]` act on `_write_(a)`."""
        node = self.node_contents_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = call_guard("_write_", node.value)
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
                is_none = call_guard("_none_", compare.left)
                if isinstance(operator, ast.Is):
                    return is_none
                negated = ast.UnaryOp(ast.Not(), is_none)
                return ast.copy_location(negated, node)
        return compare

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """Turns `{x:<9}` into `{_format_(x, "<9")}`, which also aligns values that define no formats, such as None."""
        node = self.node_contents_visit(node)
        if node.format_spec is not None and node.conversion == -1:
            node.value = call_guard("_format_", node.value, node.format_spec)
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

        An augmented assignment reads the attribute natively.
        """
        # Attack: a script writes `s.format += spy`, which hands the raw method to `spy.__radd__`.
        if not isinstance(node.target, ast.Attribute):
            return self.node_contents_visit(node)
        name = node.target.attr
        if name in identifiers.SPECIAL:
            self.error(node, f"write `x.{name} = x.{name} + …`")
        self.find_access(node.target, store=True)
        node.target.value = call_guard("_augmented_", self.visit(node.target.value), ast.Constant(name))
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
