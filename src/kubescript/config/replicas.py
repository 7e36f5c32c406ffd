"""What several replicas of one server share."""

from __future__ import annotations

from typing import Annotated, Final

import pydantic

from kubescript.config import section

__all__ = ["Replicas"]

_SCHEMES: Final = ("postgresql://", "postgresql+psycopg://")


class Replicas(section.Section):
    """The state that several replicas of one server share (docs/deploy.md)."""

    store: Annotated[str, pydantic.Field(repr=False)] = ""
    """The URL of the PostgreSQL database that all replicas share: `postgresql://USER:PASSWORD@HOST/DATABASE`. Limits of
    one caller then hold over all replicas. Plans are kept there unless `plans.store` names another place, and any
    replica finishes them, although each has an audit file of its own. Default: this server shares nothing."""

    @pydantic.field_validator("store")
    @classmethod
    def _check_store(cls, value: str) -> str:
        """Refuses a file, which replicas on several machines cannot share."""
        if value and not value.startswith(_SCHEMES):
            raise ValueError(
                "replicas share a database, not a file; write postgresql://USER:PASSWORD@HOST/DATABASE, or leave it "
                "out and set plans.store"
            )
        return value
