"""Makes pydantic build the validators of models only when they are first used. `app` imports the MCP SDK this way: a
server uses a few dozen of its thousand models, and building all takes 0.3 s of the 1.2 s that the import takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pydantic

__all__ = ["defer_models"]


@contextlib.contextmanager
def defer_models() -> Iterator[None]:
    """Creates model classes inside the block without their validators (pydantic's setting `defer_build`)."""
    # Every model copies its configuration from BaseModel's when its class is created.
    base = pydantic.BaseModel.model_config
    base["defer_build"] = True
    try:
        yield
    finally:
        del base["defer_build"]
