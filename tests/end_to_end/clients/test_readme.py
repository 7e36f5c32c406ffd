"""README.md is short, and its script gives the answer that it shows."""

from __future__ import annotations

import re

import anyio

from kubescript.cli import demo
from tests.kit import clients, paths, terminal_picture

PAGE = (paths.ROOT / "README.md").read_text("utf-8")
MOST_LINES = 130


def test_the_script_gives_the_answer_that_the_page_shows() -> None:
    """On the demo's cluster, as a client gets it: with the marks, whose number is drawn anew for each answer."""
    script, shown = (re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[0] for language in ("python", "text"))
    answers: list[str] = []

    async def ask() -> None:
        async with clients.connect("memory", ["--snapshot", str(demo.SNAPSHOT)]) as client:
            answers.append(clients.whole(await clients.evaluate(client, script)))

    anyio.run(ask)
    assert unnumbered(answers[0]).strip() == unnumbered(shown).strip()


def unnumbered(answer: str) -> str:
    """Returns the answer with the same number in all marks."""
    return re.sub(r"^\[(untrusted|end) \d+\]$", r"[\1 N]", answer, flags=re.MULTILINE)


def test_the_pictures_of_a_terminal_show_what_the_demo_prints_today() -> None:
    """But for the time and the memory that it took. `make pictures` draws them anew."""
    printed = without_costs(terminal_picture.session())
    for file in terminal_picture.FILES:
        assert without_costs(terminal_picture.read(file)) == printed
        assert str(file.relative_to(paths.ROOT)) in PAGE


def without_costs(text: str) -> str:
    """Returns a session without the figures that differ each time."""
    return re.sub(r"[\d,]+ (ms|MiB)\b", r"N \1", text)


def test_a_stranger_can_read_the_page_in_a_minute() -> None:
    """What belongs to one task stands on that task's page in docs/."""
    assert len(PAGE.splitlines()) <= MOST_LINES


def test_its_targets_are_in_the_makefile() -> None:
    makefile = (paths.ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", PAGE, re.MULTILINE)
    assert {"install", "test"} <= set(targets)
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)
