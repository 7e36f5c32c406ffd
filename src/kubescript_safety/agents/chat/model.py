"""Which model is the agent, and its limits."""

from __future__ import annotations

import dataclasses
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

import msgspec

__all__ = ["Model", "ModelError", "parse"]

_UNSENT: Final[Mapping[str, tuple[str, ...]]] = {"openai": (), "anthropic": ("seed", "temperature")}
"""Settings that an API does not support."""
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]


class ModelError(Exception):
    """No model has this name and these settings; the message says why."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model and its settings. The key is not among them: the client libraries read it from the environment."""

    provider: Literal["openai", "anthropic"]
    """The API that the endpoint implements."""
    model: Annotated[str, msgspec.Meta(min_length=1)]
    base_url: str | None = None
    """None: OPENAI_BASE_URL or ANTHROPIC_BASE_URL, or else the library's default."""
    seed: int | None = None
    """OpenAI's API only, which treats it as best effort. Anthropic's has no seed."""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    """OpenAI's API only. Anthropic's rejects it since version 2026-10-21."""
    max_turns: _AtLeastOne = 40
    """How many answers the model may give."""
    max_tokens: _AtLeastOne = 500_000
    """Input and output of all turns, including cached input. Checked before each turn, so the last turn may exceed
    it."""
    turn_tokens: _AtLeastOne | None = None
    """Output of one turn. None: the endpoint's limit, or 8,192 for Anthropic's API, which requires a figure."""
    max_result: _AtLeastOne = 100_000
    """How many characters of a tool's result the model is shown."""
    seconds: Annotated[float, msgspec.Meta(gt=0)] | None = None
    """Time limit. None: the scenario's limit, which is meant for scripts."""

    @property
    def name(self) -> str:
        """The name as on the command line."""
        return f"{self.provider}:{self.model}"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that a transcript records: those that affect the work and were sent."""
        left_out = {"base_url", *_UNSENT[self.provider]}
        found = dataclasses.asdict(self)
        return {name: value for name, value in found.items() if name not in left_out and value is not None}


def parse(text: str, **settings: Any) -> Model:
    """Parses `openai:MODEL` or `anthropic:MODEL`; settings that are None get `Model`'s defaults. Raises ModelError."""
    provider, _, model = text.partition(":")
    given = {name: value for name, value in settings.items() if value is not None}
    try:
        found = msgspec.convert({"provider": provider, "model": model, **given}, Model)
    except msgspec.ValidationError as error:
        raise ModelError(f"{text!r} is no model: {error}") from None
    _check_address(found.base_url)
    return found


def _check_address(address: str | None) -> None:
    """Rejects addresses that cannot be an endpoint's, or that may contain a key. Raises ModelError."""
    if address is None:
        return
    try:
        parts = urllib.parse.urlsplit(address)
        is_good = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_good = False
    if not is_good:
        raise ModelError("the base URL must be one of http or https")
    # Attack: the address contains a key, which would be in every transcript.
    if parts.username is not None or parts.query or parts.fragment:
        raise ModelError("the base URL must have no user, query or fragment; keys come from the environment")
