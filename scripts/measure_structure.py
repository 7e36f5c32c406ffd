"""Prints the figures of the structure of each house, so that a change of it can be measured before and after.

    python scripts/measure_structure.py [--src SRC] [--package NAME] [--json] [--files]

Import statements count wherever they stand: at the top, under TYPE_CHECKING, inside functions. A module that is named
only in a string is not an import. `from package import name` imports the module of that name if there is one, else the
package.

rooms                        modules directly in the package's folder, its own __init__ apart, and folders (at any
                             depth) that hold modules
floors                       rooms on the longest chain of imports between rooms, those of one cycle taken as one
room cycles, module cycles   largest sets of rooms (of modules) that all import each other, directly or not
modules                      .py files
flat modules                 modules directly in the package's folder, its own __init__ apart
modules with one importer    modules that exactly one other module of the package imports
short ones of these          those of at most 80 lines
lines                        of all files
function lines               from `def` to the end, docstring included; nested functions count also for themselves
file lines                   all lines of a file
syntax nodes per line        nodes of a function's syntax tree by its lines; the median of all functions
comments per 100 lines       comments, also behind code, by all lines of files; those for tools (noqa, fmt:) left out
host files of one call       files of which a function runs between the arrival of a script and its answer
callbacks of one call        functions that run while another one of their file waits for the file that calls them

The figures of one call are those of all houses together. They come from real evaluations by the installed packages
(see trace_call.py), so --src leaves them out.
"""

from __future__ import annotations

import argparse
import ast
import collections
import graphlib
import json
import re
import statistics
import sys
import tokenize
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

SHORT = 80
"""Lines of a module that one other could hold."""
FOR_TOOLS = re.compile(r"#\s*(noqa|type:|fmt:|pragma|pyright)")
"""Comments that tell a reader nothing."""

Graph = Mapping[str, AbstractSet[str]]
"""What each module, or room, imports."""


@dataclass(frozen=True)
class Module:
    """One file of the package."""

    name: str
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether it is the __init__ of a folder."""
        return self.path.name == "__init__.py"

    @property
    def folder(self) -> str:
        """The package that relative imports start from."""
        if self.is_package:
            return self.name
        return self.name.rpartition(".")[0]


def read(src: Path, package: str) -> dict[str, Module]:
    """All modules of the package, by their dotted names."""
    modules = {}
    for path in sorted((src / package).rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        name = ".".join(parts)
        text = path.read_text("utf-8")
        modules[name] = Module(name, path, text, ast.parse(text))
    return modules


def find_packages(src: Path) -> list[str]:
    """The names of the packages in a source folder."""
    folders = [path.parent for path in src.glob("*/__init__.py")]
    return sorted(folder.name for folder in folders)


def import_graph(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """The modules of the package that each module imports."""
    graph: dict[str, set[str]] = {}
    for module in modules.values():
        imported = imported_names(module)
        names = {known(name, modules) for name in imported}
        # Not itself, and nothing of another package.
        graph[module.name] = names - {module.name, ""}
    return graph


def imported_names(module: Module) -> Iterator[str]:
    """The dotted name of everything that a module's import statements name."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            origin = absolute(module, node)
            yield from (f"{origin}.{alias.name}" for alias in node.names)


def absolute(module: Module, statement: ast.ImportFrom) -> str:
    """What a statement imports from, as an absolute name."""
    if statement.level == 0:
        return statement.module or ""
    # One dot is the folder itself, each further one the folder above.
    parts = module.folder.split(".")
    base = parts[: len(parts) - statement.level + 1]
    if statement.module:
        base.append(statement.module)
    return ".".join(base)


def known(name: str, modules: Mapping[str, Module]) -> str:
    """The module that a dotted name lies in; empty when it is not of the package."""
    # What a statement names may be a module, or something in one.
    while name and name not in modules:
        name = name.rpartition(".")[0]
    return name


def room_of(module: Module) -> str:
    """The room that a module belongs to; empty for the package's own __init__."""
    parts = module.name.split(".")
    # A file directly in the package is a room of its own.
    if len(parts) == 2 and not module.is_package:
        return parts[1]
    _, _, room = module.folder.partition(".")
    return room


def room_graph(modules: Mapping[str, Module], imports: Graph) -> dict[str, set[str]]:
    """The rooms that each room imports."""
    rooms = {name: room_of(module) for name, module in modules.items()}
    graph: dict[str, set[str]] = {room: set() for room in rooms.values() if room}
    for name, room in rooms.items():
        if room:
            imported = {rooms[other] for other in imports[name]}
            graph[room] |= imported - {room, ""}
    return graph


def components(graph: Graph) -> dict[str, frozenset[str]]:
    """The nodes that each node is in a cycle with, itself included."""
    reach = {node: reachable(graph, node) for node in graph}
    found = {}
    for node, others in reach.items():
        # Those that a chain leads to, and another back from.
        both = {other for other in others if node in reach[other]}
        found[node] = frozenset({node} | both)
    return found


def reachable(graph: Graph, start: str) -> set[str]:
    """All nodes that a chain of imports leads to."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        fresh = graph[waiting.pop()] - found
        found |= fresh
        waiting += fresh
    return found


def cycles(graph: Graph) -> list[list[str]]:
    """The sets of nodes that import each other."""
    found = set(components(graph).values())
    return sorted(sorted(members) for members in found if len(members) > 1)


def floors(graph: Graph) -> list[list[str]]:
    """The nodes by the length of the longest chain of imports below them, the lowest first."""
    # The nodes of a cycle have no order among themselves: the cycle as a whole has a height.
    component = components(graph)
    below = {}
    for members in component.values():
        imported = {component[other] for node in members for other in graph[node]}
        below[members] = imported - {members}
    heights: dict[frozenset[str], int] = {}
    for members in graphlib.TopologicalSorter(below).static_order():
        lower = [heights[each] for each in below[members]]
        heights[members] = 1 + max(lower, default=0)
    found: list[list[str]] = [[] for _ in range(max(heights.values()))]
    for node in sorted(graph):
        height = heights[component[node]]
        found[height - 1].append(node)
    return found


def functions(modules: Mapping[str, Module]) -> list[tuple[int, int]]:
    """The lines and the syntax nodes of every function and method."""
    found = []
    for module in modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                last = node.end_lineno or node.lineno
                nodes = sum(1 for _ in ast.walk(node))
                found.append((last - node.lineno + 1, nodes))
    return found


def comments(module: Module) -> int:
    """How many comments a module has for its readers."""
    with module.path.open("rb") as file:
        tokens = list(tokenize.tokenize(file.readline))
    texts = [token.string for token in tokens if token.type == tokenize.COMMENT]
    for_readers = [text for text in texts if not FOR_TOOLS.match(text)]
    return len(for_readers)


def measure(modules: Mapping[str, Module]) -> dict[str, object]:
    """The figures of the imports and of the files."""
    imports = import_graph(modules)
    rooms = room_graph(modules, imports)
    importers = collections.Counter(name for names in imports.values() for name in names)
    room_cycles = cycles(rooms)
    module_cycles = cycles(imports)
    flat = [module for module in modules.values() if module.name.count(".") == 1 and not module.is_package]
    single = [module for name, module in modules.items() if importers[name] == 1]
    # What only one other needs, and is short, might as well stand there.
    short = [module for module in single if len(module.text.splitlines()) <= SHORT]
    return {
        "rooms": len(rooms),
        "floors": len(floors(rooms)),
        "room cycles": len(room_cycles),
        "module cycles": len(module_cycles),
        "modules": len(modules),
        "flat modules": len(flat),
        "modules with one importer": len(single),
        "short ones of these": len(short),
        **measure_lines(modules),
        "rooms by floor": floors(rooms),
        "rooms in cycles": room_cycles,
        "modules in cycles": module_cycles,
    }


def measure_lines(modules: Mapping[str, Module]) -> dict[str, object]:
    """The figures of functions, files and comments."""
    found = functions(modules)
    lengths = sorted(lines for lines, _ in found)
    files = [len(module.text.splitlines()) for module in modules.values()]
    said = sum(comments(module) for module in modules.values())
    return {
        "lines": sum(files),
        "function lines, median": statistics.median(lengths),
        "function lines, p90": lengths[len(lengths) * 9 // 10],
        "function lines, maximum": lengths[-1],
        "file lines, median": statistics.median(files),
        "file lines, maximum": max(files),
        "syntax nodes per line": round(statistics.median(nodes / lines for lines, nodes in found), 1),
        "comments per 100 lines": round(100 * said / sum(files), 1),
    }


def measure_call() -> dict[str, object]:
    """The figures of one call to the installed package."""
    # Here, for it imports the installed package, which another checkout's figures do not need.
    from scripts import trace_call

    path = trace_call.trace()
    return {
        "host files of one call": len(path.files),
        "callbacks of one call": len(path.callbacks),
        "files in order of first entry": path.files,
        "calls back up": path.callbacks,
    }


def table(houses: Mapping[str, Mapping[str, object]]) -> str:
    """The figures that are numbers, one a line, a house a column."""
    first = next(iter(houses.values()))
    rows = [["", *houses]]
    for name, value in first.items():
        if not isinstance(value, list):
            rows.append([name, *(str(figures[name]) for figures in houses.values())])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(map(str.ljust, row, widths)) for row in rows]
    return "\n".join(map(str.rstrip, lines))


def listing(figures: Mapping[str, object]) -> str:
    """The lists behind the figures, each under its name."""
    lines = []
    for name, value in figures.items():
        # Figures are in the table.
        if not isinstance(value, list):
            continue
        lines += ["", f"{name}:"]
        for number, row in enumerate(value, 1):
            text = " ".join(row) if isinstance(row, list) else row
            lines.append(f"  {number:>3}  {text}")
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--src", type=Path, help="the source folder of another checkout; leaves one call out")
    parser.add_argument("--package", help="one package of it")
    parser.add_argument("--json", action="store_true", help="print JSON, with the lists behind the figures")
    parser.add_argument("--files", action="store_true", help="print the lists behind the figures too")
    given = parser.parse_args()
    src = given.src or ROOT / "src"
    packages = [given.package] if given.package else find_packages(src)
    houses = {package: measure(read(src, package)) for package in packages}
    call = measure_call() if given.src is None else {}
    if given.json:
        print(json.dumps(houses | ({"one call": call} if call else {}), indent=2))
        return
    print(table(houses))
    if call:
        print(table({"all houses": call}))
    for figures in [*houses.values(), call] if given.files else ():
        print(listing(figures))


if __name__ == "__main__":
    main()
