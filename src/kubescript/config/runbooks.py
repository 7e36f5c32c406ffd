"""The settings for runbooks: scripts that people have reviewed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, Literal, Self

import pydantic
from pydantic import Field

from kubescript.config import callers, section

__all__ = ["RUNBOOK_NAME", "PreApproved", "Runbooks"]

RUNBOOK_NAME: Final = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"
"""The form of a runbook's name: that of a DNS label."""


class PreApproved(callers.Callers):
    """The bounds within which a runbook's plan needs no person, for the callers whom `users` or `groups` name. Over
    stdio the caller is the operating system's user."""

    contexts: tuple[str, ...] = ()
    """The clusters, by their names in `contexts`, where the server has those. Default: none of them."""
    namespaces: Annotated[tuple[str, ...], Field(min_length=1)]
    """The namespaces in which it may change something; `team-*` is a pattern. Objects without a namespace need ""."""
    kinds: Annotated[tuple[str, ...], Field(min_length=1)]
    """The resources that it may change: `deployments.apps`. `deployments.apps/scale` is a separate resource."""
    verbs: Annotated[tuple[Literal["create", "update", "patch", "delete"], ...], Field(min_length=1)]
    """What it may do with them."""
    fields: tuple[str, ...] = ()
    """The only fields that it may change, with all that is below them: `spec.template.metadata.annotations`. Written as
    a plan shows them. Default: all."""
    replicas: Annotated[tuple[int, ...], Field(min_length=2, max_length=2)] | None = None
    """The smallest and the largest number of replicas that an object may have afterwards. Default: it changes none."""
    per_day: Annotated[int, Field(ge=1, le=10_000)]
    """How many of its plans may be applied this way in 24 hours, for all callers and all replicas of the server."""

    @pydantic.model_validator(mode="after")
    def _names_callers(self) -> Self:
        # Attack: a table without callers would let every caller of the server change the cluster without a person.
        if not self.users and not self.groups:
            raise ValueError("name the callers in `users` or `groups`")
        return self


class Runbooks(section.Section):
    """The folder of runbooks (docs/runbooks.md)."""

    folder: section.UserPath | None = None
    """The folder with NAME.py files and their lock file, `runbooks.lock`. Default: there are no runbooks."""
    approved: Mapping[Annotated[str, Field(pattern=RUNBOOK_NAME)], PreApproved] = {}
    """The runbooks that are approved in advance, within bounds, by name."""
