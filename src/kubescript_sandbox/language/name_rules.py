"""Checks the names of a script's syntax tree, and collects the findings. The base of transformer.py.

RestrictedPython supplies the walk, which denies by default: a node without a `visit_` method is refused
(`generic_visit`). Names are judged by identifiers.py.
"""

from __future__ import annotations

import ast
from typing import Any

from RestrictedPython.transformer import RestrictingNodeTransformer

from kubescript_sandbox.language import identifiers, refusals

__all__ = ["NameRules", "call_guard"]


class NameRules(RestrictingNodeTransformer):
    """Checks every name that a script binds, reads or imports; fills `findings` and `bound`."""

    def __init__(self) -> None:
        super().__init__()
        self.findings: list[refusals.Finding] = []
        self.bound: set[str] = set()
        """Every name the script binds anywhere."""
        self._missing_builtins: list[ast.Name] = []

    def finish(self) -> None:
        """Checks what depends on the whole script: uses of unavailable builtins."""
        for node in self._missing_builtins:
            if node.id not in self.bound:
                self.error(node, f"`{node.id}` is not available: {refusals.about_name(node.id)}")

    def error(self, node: ast.AST, info: str) -> None:
        """Adds a finding at the node's position."""
        line = getattr(node, "lineno", 0)
        column = getattr(node, "col_offset", 0)
        self.findings.append(refusals.Finding(line, column, info))

    def not_allowed(self, node: ast.AST) -> None:
        """Refuses syntax without a rule, with advice where there is any."""
        kind = type(node).__name__
        self.error(node, refusals.about_syntax(kind))

    def check_name(self, node: Any, name: str | None, allow_magic_methods: bool = False) -> None:
        """Checks a name that the script binds: a variable, parameter, function, class, alias or capture."""
        if name is None:
            return
        self.bound.add(name)
        self._check_identifier(node, name, store=True)

    def _check_identifier(self, node: ast.AST, name: str, *, store: bool) -> None:
        """Adds a finding for a name that scripts may not use."""
        try:
            identifiers.check_identifier(name, store=store)
        except identifiers.Refused as refused:
            self.error(node, str(refused))

    def find_access(self, node: ast.Attribute, *, store: bool = False) -> identifiers.Access:
        """Returns the kind of an attribute's name; adds a finding for one that scripts may not use."""
        try:
            return identifiers.access(node.attr, store=store)
        except identifiers.Refused as refused:
            self.error(node, str(refused))
            return identifiers.Access.PUBLIC

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
            self._check_identifier(node, node.id, store=False)
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
            self._check_identifier(node, alias.name, store=False)
            self.check_name(node, alias.asname or alias.name)
        return node


def call_guard(guard: str, *args: ast.expr) -> ast.Call:
    """Returns the call of a guard, at the position of its first argument."""
    function = ast.Name(guard, ast.Load())
    node = ast.Call(function, list(args), [])
    return ast.copy_location(node, args[0])
