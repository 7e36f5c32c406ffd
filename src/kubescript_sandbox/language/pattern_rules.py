"""Transforms the patterns of `match` statements. A base of transformer.py."""

from __future__ import annotations

import ast
from typing import Any, Final

from kubescript_sandbox.language import identifiers, name_rules
from kubescript_sandbox.language.name_rules import call_guard

__all__ = ["PatternRules"]

_PATTERN_TYPES: Final = frozenset({"str", "int", "float", "bool", "list", "dict", "tuple", "set", "frozenset", "bytes"})


class PatternRules(name_rules.NameRules):
    """Admits patterns, reads their values through the guards, and checks their captures."""

    def __init__(self) -> None:
        super().__init__()
        self._pattern_names: list[tuple[ast.MatchClass, str]] = []

    def finish(self) -> None:
        """Checks what depends on the whole script, including whether it has rebound a builtin type that a pattern
        uses."""
        super().finish()
        for pattern, name in self._pattern_names:
            if name in self.bound:
                self.error(pattern, f"`{name}` is a variable of this script: rename it, or test with isinstance")

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """Visits the subject and the cases."""
        return self.node_contents_visit(node)

    def visit_match_case(self, node: ast.match_case) -> ast.AST:
        """Visits pattern, guard and body."""
        return self.node_contents_visit(node)

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        """Reads a dotted name through the guards; the comparison is native."""
        node.value = self._guard_value(node.value)
        return node

    def _guard_value(self, node: ast.expr) -> Any:
        """Returns a guarded value for a pattern."""
        # Attack: a script writes `case text.format:`, which hands the raw method to the subject's `__eq__`. A pattern
        # must be an attribute or a literal, so it becomes `_box_(…).value`.
        part: ast.AST = node
        while isinstance(part, ast.Attribute):
            if self.find_access(part) is not identifiers.Access.PUBLIC:
                self.error(node, f"`.{part.attr}` in a pattern is not available: compare with `if`")
            part = part.value
        value = self.visit(node)
        return _attribute(call_guard("_box_", value), "value") if isinstance(node, ast.Attribute) else value

    def visit_MatchSingleton(self, node: ast.MatchSingleton) -> ast.AST:
        """Keeps None, True and False."""
        return node

    def visit_MatchSequence(self, node: ast.MatchSequence) -> ast.AST:
        """Visits the patterns inside."""
        return self.node_contents_visit(node)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> ast.AST:
        """Checks keys as values, and the rest as a capture."""
        node.keys = [self._guard_value(key) for key in node.keys]
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


def _attribute(value: ast.expr, name: str) -> ast.Attribute:
    return ast.copy_location(ast.Attribute(value, name, ast.Load()), value)
