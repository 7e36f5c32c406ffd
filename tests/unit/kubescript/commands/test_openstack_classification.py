"""Every command that is installed is classified, and no option of any names a file of the server."""

from __future__ import annotations

import argparse
import importlib.metadata
import inspect
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import pytest

from kubescript.launcher import classification, options, refusal

if TYPE_CHECKING:
    from openstackclient import shell

INFRASTRUCTURE: Final = frozenset({"openstack.cli.base", "openstack.cli.extension"})
"""Groups of plugins, which are no commands."""
BUILT_IN: Final = frozenset({"help", "complete"})
"""Commands of cliff, which are in no group."""

FILE: Final = re.compile(r"file|path|\bdir(ector|s?\b)|stdin|prompt|terminal|editor|upload|keystore", re.IGNORECASE)
"""What the text of an option says when it may name a file of the machine where the command runs."""
HARMLESS: Final = re.compile(
    r"profile|multipath|injected[_-](file|path)[\w-]*|export[ _-](path|location)|module path to driver|"
    r"MIME type of the policy rules file|sort[_ -]dir",
    re.IGNORECASE,
)
"""What else may be meant by these words."""
LOOKED_AT: Final = frozenset(
    {
        ("image create", "--store"),  # a store of Glance
        ("image import", "--store"),
        ("image import", "--allow-failure"),
        ("image import", "--disallow-failure"),
        ("image set", "--store"),
        ("share migration start", "--preserve-metadata"),  # of files in the share
        ("server dump create", "server"),
        ("image create", "--import"),
        ("image create", "--size"),
        ("share adopt", "export_path"),  # on the storage that Manila manages
        ("share list", "--export-location"),
        ("image create", "--sign-cert-id"),
    }
)
"""Options that were looked at one by one."""


def entries() -> dict[tuple[str, str], importlib.metadata.EntryPoint]:
    """Every command by group and name."""
    every = (entry for package in importlib.metadata.distributions() for entry in package.entry_points)
    return {
        (entry.group, entry.name.replace("_", " ")): entry
        for entry in every
        if entry.group.startswith("openstack.") and entry.group not in INFRASTRUCTURE
    }


ENTRIES: Final = entries()


@pytest.fixture(scope="module")
def parsers() -> list[tuple[str, argparse.ArgumentParser]]:
    """The parser of every command, of every version of every API."""
    from openstackclient import shell  # a second, in the one process that needs it

    application = shell.OpenStackShell()
    application.options = argparse.Namespace(os_beta_command=True, debug=False)
    application.client_manager = mock.MagicMock()
    application.client_manager.placement.api_version = "1.39"
    return list(made(application))


def made(application: shell.OpenStackShell) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for (_, name), entry in sorted(ENTRIES.items()):
        factory: Any = entry.load()
        named = {"cmd_name": name} if "cmd_name" in inspect.getfullargspec(factory.__init__).args else {}
        yield name, factory(application, application.options, **named).get_parser(f"openstack {name}")
    from cliff import help as cliff_help

    yield "help", cliff_help.HelpCommand(application, None).get_parser("openstack help")


def test_every_installed_command_is_classified_and_no_other() -> None:
    installed = {name for _, name in ENTRIES} | BUILT_IN
    classified = classification.load().names()
    assert sorted(installed - classified) == []
    assert sorted(classified - installed) == []
    assert len(installed) > 850


def test_no_command_is_classified_twice() -> None:
    rules = classification.load()
    assert not rules.reads & rules.writes
    assert not (rules.reads | rules.writes) & set(rules.withheld)
    assert set(rules.options) <= rules.writes | rules.reads


def test_reads_have_the_verbs_of_reads() -> None:
    odd = {name for name in classification.load().reads if name.split()[-1] not in {"list", "show"}}
    assert odd == {
        "bgp speaker list advertised routes",
        "group contains user",
        "help",
        "image import info",
        "image member get",
        "volume summary",
    }


def test_no_accepted_option_names_a_file_or_asks_at_a_terminal(
    parsers: list[tuple[str, argparse.ArgumentParser]],
) -> None:
    rules = classification.load()
    found = set()
    for name, parser in parsers:
        assert parser.fromfile_prefix_chars is None, name
        if name in rules.withheld:
            continue
        for action in parser._actions:
            label = action.option_strings[0] if action.option_strings else action.dest
            assert not isinstance(action.type, argparse.FileType), (name, label)
            told = " ".join([*action.option_strings, action.dest, str(action.metavar), str(action.help)])
            suspicious = FILE.search(HARMLESS.sub("", told)) is not None
            if suspicious and (name, label) not in LOOKED_AT and label not in rules.options.get(name, ()):
                found.add((name, label))
    assert not found, sorted(found)


def test_each_refused_option_exists_and_is_refused_in_every_spelling(
    parsers: list[tuple[str, argparse.ArgumentParser]],
) -> None:
    rules = classification.load()
    seen: set[tuple[str, str]] = set()
    for name, parser in parsers:
        known = {string for action in parser._actions for string in action.option_strings}
        forbidden = rules.options.get(name, frozenset()) & known
        seen.update((name, option) for option in forbidden)
        options.forbid(parser, forbidden)
        for option in forbidden:
            for words in ([option, "/etc/passwd"], [f"{option}=/etc/passwd"], [option[:-1] + "=x"], [option]):
                assert refuses(parser, words, known, option), (name, words)
    assert seen == {(name, option) for name, refused in rules.options.items() for option in refused}


def refuses(parser: argparse.ArgumentParser, words: list[str], known: set[str], option: str) -> bool:
    """Whether the parser takes the words for the option and refuses it, or for none."""
    try:
        parser.parse_known_args(words)
    except refusal.Refused as refused:
        return option in str(refused)
    except SystemExit:
        return True
    return False


def test_a_command_that_nobody_has_classified_is_refused_even_where_writes_are_allowed() -> None:
    rules = classification.load()
    for allow_write in (False, True):
        why = rules.refusal("telescope list", (), allow_write=allow_write)
        assert why is not None
        assert "nobody has classified it" in why
        assert rules.refusal("telescope list", ("telescope",), allow_write=allow_write) is None
        assert rules.refusal("token issue", ("token",), allow_write=allow_write) is not None
        assert rules.refusal("project list", (), allow_write=allow_write) is None
    assert rules.refusal("project create", (), allow_write=True) is None
