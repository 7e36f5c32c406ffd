"""Each command of the real kubectl, and each flag of those that are allowed, is classified in oc_commands.toml.

A newer kubectl's commands and flags are refused by the product, and fail here until somebody classifies them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent import futures
from dataclasses import dataclass

import pytest

from kubescript.commands import oc_commands
from tests.kit import kubectl

pytestmark = pytest.mark.usefixtures("kubectl_program")

COMMAND = re.compile(r"  ([a-z][a-z0-9-]*) +\S")
FLAG = re.compile(r" {4}(?:(-.), )?(--[a-z0-9-]+)=(.*):")
ALLOWED = oc_commands.READS | oc_commands.WRITES
# kubectl does not have them, or has them without a page of help.
OC_ALONE = ("adm", "image", "policy", "projects", "status", "whoami", "help", "options")
OC_ALONE_FLAGS = {("logs", "--version")}
OC_ALONE_WRITES = {("rollout", "cancel"), ("rollout", "latest"), ("rollout", "retry")}
# They do nothing without a file.
NEEDS_A_FILE = {("create",)}


@dataclass(frozen=True)
class Flag:
    short: str
    long: str
    switch: bool
    """The default is a plain true or false: no value has to follow."""


@dataclass(frozen=True)
class Page:
    """What the help of one command says."""

    commands: tuple[str, ...]
    aliases: tuple[str, ...]
    flags: tuple[Flag, ...]


def page(words: oc_commands.Command) -> Page:
    commands: list[str] = []
    section = ""
    text = kubectl.answer(*words, "--help")
    for row in text.splitlines():
        if row and not row.startswith(" "):
            section = row
        elif "Commands" in section and (found := COMMAND.match(row)):
            commands.append(found[1])
    aliases = re.search(r"^Aliases:\n(.+)$", text, re.MULTILINE)
    return Page(tuple(commands), tuple(aliases[1].split(", ")) if aliases else (), tuple(flags_in(text)))


def flags_in(text: str) -> Iterator[Flag]:
    for found in map(FLAG.fullmatch, text.splitlines()):
        if found:
            yield Flag(found[1] or "", found[2], found[3] in {"true", "false"})


@pytest.fixture(scope="module")
def pages() -> dict[oc_commands.Command, Page]:
    """Every command but for those below a blocked one."""
    known: dict[oc_commands.Command, Page] = {}
    waiting: list[oc_commands.Command] = [()]
    with futures.ThreadPoolExecutor(4) as threads:
        while waiting:
            found = dict(zip(waiting, threads.map(page, waiting), strict=True))
            known |= found
            below = [(*words, name) for words, shown in found.items() for name in shown.commands]
            waiting = [words for words in below if not is_blocked(words)]
    return known


def is_blocked(words: oc_commands.Command) -> bool:
    return oc_commands.longest(words, oc_commands.BLOCKED) > 0


def allowed_pages(pages: dict[oc_commands.Command, Page]) -> Iterable[tuple[oc_commands.Command, Page]]:
    return ((words, shown) for words, shown in pages.items() if words in ALLOWED)


def test_each_command_of_kubectl_is_allowed_or_blocked(pages: dict[oc_commands.Command, Page]) -> None:
    assert len(pages) > 50
    unknown = [
        words
        for words, shown in pages.items()
        if not shown.commands and words not in ALLOWED and words not in NEEDS_A_FILE
    ]
    assert unknown == []
    groups = {words for words, shown in pages.items() if shown.commands}
    assert not groups & ALLOWED.keys(), "a group is allowed as if it were a command"


def test_each_listed_command_is_one_of_kubectl_or_oc_alone(pages: dict[oc_commands.Command, Page]) -> None:
    strange = [words for words in ALLOWED if words not in pages and words[0] not in OC_ALONE]
    assert set(strange) == OC_ALONE_WRITES
    assert [words for words in ALLOWED if is_blocked(words)] == []


def test_each_other_name_of_an_allowed_command_is_known(pages: dict[oc_commands.Command, Page]) -> None:
    for words, shown in pages.items():
        for alias in shown.aliases:
            assert oc_commands.canonical((*words[:-1], alias)) == words


def test_each_flag_of_an_allowed_command_is_allowed_or_refused(pages: dict[oc_commands.Command, Page]) -> None:
    unknown = []
    for words, shown in allowed_pages(pages):
        allowed = oc_commands.flags_of(words).names
        for flag in shown.flags:
            if allowed.get(flag.long) != flag.long[2:] and flag.long not in oc_commands.REFUSED_FLAGS:
                unknown.append((*words, flag.long))
            if flag.short and flag.long in allowed and allowed.get(flag.short) != flag.long[2:]:
                unknown.append((*words, flag.short))
    assert unknown == []


def test_each_allowed_flag_is_one_that_the_command_has(pages: dict[oc_commands.Command, Page]) -> None:
    strange = set()
    for words, shown in allowed_pages(pages):
        spellings = {flag.long for flag in shown.flags} | {flag.short for flag in shown.flags} | {"-h", "--help"}
        ours = oc_commands.flags_of(words).names.keys() - oc_commands.GLOBAL_FLAGS.names.keys()
        strange |= {(*words, spelling) for spelling in ours - spellings}
    assert strange == OC_ALONE_FLAGS


def test_each_global_flag_is_allowed_or_refused() -> None:
    flags = tuple(flags_in(kubectl.answer("options")))
    assert len(flags) > 20
    for flag in flags:
        assert flag.long in oc_commands.GLOBAL_FLAGS.names or flag.long in oc_commands.REFUSED_FLAGS
        if flag.long in oc_commands.GLOBAL_FLAGS.names:
            assert (flag.long[2:] not in oc_commands.GLOBAL_FLAGS.need_value) == flag.switch
        if flag.short:
            assert flag.short in oc_commands.GLOBAL_FLAGS.names or flag.short in oc_commands.REFUSED_FLAGS
    names = {flag.long for flag in flags}
    assert {name for name in oc_commands.GLOBAL_FLAGS.names if name.startswith("--")} <= names


def test_each_allowed_flag_needs_a_value_where_kubectl_says_so(pages: dict[oc_commands.Command, Page]) -> None:
    asked: dict[str, oc_commands.Command] = {}
    for words, shown in allowed_pages(pages):
        flags = oc_commands.flags_of(words)
        for flag in shown.flags:
            if flag.long in flags.names and flag.switch:
                assert flag.long[2:] not in flags.need_value, (*words, flag.long)
            elif flag.long in flags.names:
                asked.setdefault(flag.long, words)
    with futures.ThreadPoolExecutor(4) as threads:
        answers = list(
            threads.map(lambda asks: kubectl.answer("--server=http://127.0.0.1:1", *asks[1], asks[0]), asked.items())
        )
    for (name, words), answer in zip(asked.items(), answers, strict=True):
        needed = f"flag needs an argument: {name}" in answer
        assert needed == (name[2:] in oc_commands.flags_of(words).need_value), (name, words, answer)
