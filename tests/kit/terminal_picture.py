"""The picture of a terminal in docs/images: the last question of `kubescript demo`, as that command prints it."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI, TerminalTheme
from rich.text import Text

from tests.kit import commands, paths

__all__ = ["FILES", "draw", "read", "session"]

FOLDER: Final = paths.ROOT / "docs" / "images"
LIGHT: Final = TerminalTheme((248, 249, 250), (31, 35, 40), [(31, 35, 40)] * 8)
FILES: Final = {FOLDER / "terminal-light.svg": LIGHT, FOLDER / "terminal-dark.svg": DIMMED_MONOKAI}
"""The pictures, and the colours of each."""
COLUMNS: Final = 100
NAME: Final = "terminal"
FORMAT: Final = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>.{unique_id}-matrix {{ font: {char_height}px monospace }} .{unique_id}-title {{ font: 18px sans-serif }} {styles}</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>{lines}</defs>
{chrome}<g transform="translate({terminal_x}, {terminal_y})" class="{unique_id}-matrix">{matrix}</g>
</svg>
"""
"""The picture's own fonts are those of the reader's machine: rich's format fetches one from a server."""


def session() -> str:
    """Runs the demo; returns what a terminal shows of its last question, without the next steps of the person."""
    printed = commands.run("demo", environment=commands.BARE).stdout
    last = max(found.start() for found in re.finditer(r"^── \d+\. ", printed, re.MULTILINE))
    question, _, _ = printed[last:].partition("\nNext: ")
    return f"$ kubescript demo\n…\n{question.rstrip()}"


def draw(text: str, colours: TerminalTheme) -> str:
    """Returns an SVG of a terminal that shows this text."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text(text))
    return console.export_svg(title=NAME, theme=colours, code_format=FORMAT, unique_id=NAME)


def read(file: Path) -> str:
    """Returns the text that a picture shows."""
    texts = ElementTree.parse(file).iter("{http://www.w3.org/2000/svg}text")
    shown = ["".join(each.itertext()) for each in texts if each.get("class") != f"{NAME}-title"]
    return "".join(shown).replace("\N{NO-BREAK SPACE}", " ").rstrip()
