"""Which model is the agent, and within which bounds it works."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

__all__ = ["Model", "ModelError", "parse"]

_UNSENT: Final[Mapping[str, tuple[str, ...]]] = {"openai": (), "anthropic": ("seed", "temperature")}
"""Settings that an API has no field for."""
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]


class ModelError(Exception):
    """No model can be had by this name and with these settings; the message says why."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model and its settings. The key is none of them: the client libraries read it from the environment."""

    provider: Literal["openai", "anthropic"]
    """Whose API the endpoint speaks."""
    model: Annotated[str, msgspec.Meta(min_length=1)]
    base_url: str | None = None
    """None: OPENAI_BASE_URL or ANTHROPIC_BASE_URL, else the library's own."""
    seed: int | None = None
    """OpenAI's API only, which promises no more than its best effort. Anthropic's has none."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    """OpenAI's API only. Anthropic's refuses it since version 2026-10-21."""
    max_turns: _AtLeastOne = 40
    """Answers of the model."""
    max_tokens: _AtLeastOne = 500_000
    """Input and output of all turns, cached input too. It is looked at before each turn: the last may pass it."""
    turn_tokens: _AtLeastOne | None = None
    """Output of one turn. None: what the endpoint allows, or 8,192 with Anthropic's API, which wants a figure."""
    max_result: _AtLeastOne = 100_000
    """Characters of one tool's result that the model is shown."""
    seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """How long it works. None: the time of the scenario, which is meant for scripts."""

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        return f"{self.provider}:{self.model}"

    @property
    def settings(self) -> dict[str, Any]:
        """What a transcript says of it: what changes how it works, and was sent."""
        left_out = {"base_url", *_UNSENT[self.provider]}
        names = (field.name for field in dataclasses.fields(self))
        found = {name: getattr(self, name) for name in names if name not in left_out}
        return {name: value for name, value in found.items() if value is not None}


def parse(text: str, **settings: Any) -> Model:
    """Reads `openai:MODEL` or `anthropic:MODEL`; a setting that is None is as `Model` has it. Raises ModelError."""
    provider, _, model = text.partition(":")
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        found = msgspec.convert({"provider": provider, "model": model, **given}, Model)
    except msgspec.ValidationError as error:
        raise ModelError(f"{text!r} is no model: {error}") from None
    _check_address(found.base_url)
    return found


def _check_address(address: str | None) -> None:
    """Refuses what is no address of an endpoint, and one with a key in it."""
    if address is None:
        return
    try:
        parts = urllib.parse.urlsplit(address)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise ModelError("the base URL must be one of http or https")
    if parts.username is not None or parts.query or parts.fragment:
        raise ModelError("the base URL must have no user, query or fragment; keys come from the environment")
