"""Lets pydantic build the validators of models when they are first used. `app` imports the MCP SDK this way: of its
thousand models a server uses a few dozen, and building all of them takes 0.3 s of the 1.2 s that its import takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pydantic

__all__ = ["defer_models"]


@contextlib.contextmanager
def defer_models() -> Iterator[None]:
    """Makes classes of models inside the block without their validators (pydantic's own setting `defer_build`)."""
    # Every model's configuration begins with that of BaseModel, and keeps what stood in it when its class was made.
    base = pydantic.BaseModel.model_config
    base["defer_build"] = True
    try:
        yield
    finally:
        del base["defer_build"]
