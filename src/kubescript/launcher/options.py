"""The options that a command line may have: global ones are limited by an allow-list, those of a command by a
deny-list."""

from __future__ import annotations

import argparse
import re
import urllib.parse
from collections.abc import Iterable, Sequence
from typing import Any, Final

from kubescript.launcher.refusal import Refused

__all__ = ["GlobalOptions", "forbid"]

_ALLOWED: Final = frozenset(
    {
        *("--version", "-v", "--verbose", "-q", "--quiet", "-h", "--help", "--timing", "--os-beta-command"),
        *("--os-region-name", "--os-interface"),
    }
)
_CLIMBS: Final = re.compile(r"(?:^|[/\\=])\.\.(?:[/\\;?#]|$)")
# A word may be encoded once by the caller, and once for each library that decodes it.
_ENCODINGS: Final = 3
"""How many times a word may be percent-encoded."""
_API_VERSION: Final = re.compile(r"--os-[a-z-]+-api-version")


class GlobalOptions:
    """openstackclient's own options, divided into those that a caller may use and all others."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._complete = parser
        self._accepted = [action for action in parser._actions if _is_allowed(action)]
        self._names = _spellings(self._accepted)
        refused = _spellings(parser._actions) - self._names
        self._refused = sorted(refused)

    def parser(self) -> argparse.ArgumentParser:
        """Returns a parser that accepts only the allowed options; all others have their defaults."""
        complete = self._complete
        parser = type(complete)(prog="openstack", description=complete.description, add_help=False)
        defaults = {action.dest: action.default for action in complete._actions}
        parser.set_defaults(**defaults)
        for action in self._accepted:
            if action.nargs is None and action.choices is None:
                action.type = _literal
            parser._add_action(action)
        return parser

    def check(self, arguments: Iterable[str]) -> None:
        """Raises Refused for an option that is not allowed, in any spelling and place, and for a word that climbs out
        of its path."""
        for word in arguments:
            _check_path(word)
            spelling, _, _ = word.partition("=")
            name = spelling.replace("_", "-")
            if not name.startswith("--") or name == "--" or name in self._names:
                continue
            # argparse takes an abbreviation to be the option, wherever it occurs.
            meant = [option for option in self._refused if option.startswith(name)]
            if meant:
                raise Refused(_explain(name, meant))


def _check_path(word: str) -> None:
    """Raises Refused for a word that climbs out of its path."""
    # Attack: a caller gives an ID such as `../../identity/v3/credentials/x`, which is put into an address that HTTP
    # libraries shorten. Where services share a host, `image show` would then show a credential.
    plain = word
    for _ in range(_ENCODINGS):
        plain = urllib.parse.unquote(plain)
    if _CLIMBS.search(plain):
        raise Refused(f"{word!r} is refused: `..` may not stand in a path.")


def _spellings(actions: Iterable[argparse.Action]) -> set[str]:
    """Returns all names of these options."""
    names: set[str] = set()
    for action in actions:
        names.update(action.option_strings)
    return names


def _is_allowed(action: argparse.Action) -> bool:
    """Says whether a caller may use an option, under all its names."""
    others = [name for name in action.option_strings if name not in _ALLOWED]
    return all(map(_API_VERSION.fullmatch, others))


def _explain(name: str, meant: list[str]) -> str:
    """Returns why an option is refused, with the full name of an abbreviation."""
    option = name
    if name not in meant:
        more = " …" if len(meant) > 3 else ""
        names = ", ".join(meant[:3])
        option = f"{name} (of {names}{more})"
    if set(meant) <= {"--debug", "--log-file"}:
        return f"{option} is refused: leave it out; --verbose tells more about a failure."
    return f"{option} is the operator's: leave it out. Credentials, clouds and addresses are set on the server."


def _literal(value: str) -> str:
    """Refuses braces."""
    # Attack: a caller gives `--os-region-name '{auth[password]}'`; openstacksdk formats values with the cloud's
    # settings, which would put the password into an error message.
    if "{" in value or "}" in value:
        raise argparse.ArgumentTypeError("braces are not allowed")
    return value


class _Forbidden(argparse.Action):
    """A refusing action for an option or argument that names a file or asks at a terminal."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        name = self.option_strings[0] if self.option_strings else self.dest
        raise Refused(
            f"{name} is refused: it names a file of the server or asks at its terminal; no setting allows it."
        )


def forbid(parser: argparse.ArgumentParser, options: Iterable[str]) -> argparse.ArgumentParser:
    """Makes the parser of a command refuse these options, abbreviated or not."""
    for action in parser._actions:
        if not set(action.option_strings).isdisjoint(options):
            # The same object stays in its groups, so that mutually exclusive options remain exclusive.
            action.__class__ = _Forbidden
            action.type = None
            action.choices = None
            action.required = False
            action.help = argparse.SUPPRESS
    return parser
