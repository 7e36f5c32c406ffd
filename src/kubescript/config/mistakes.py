"""What is wrong with a setting, said so that it can be mended: the key, its place, and the nearest key there is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

import pydantic

from kubescript.config import settings

__all__ = ["explain", "nearest"]


def explain(error: pydantic.ValidationError, path: Path | None) -> str:
    """What to change in the file at `path`, the flags or the environment."""
    return "; ".join(_explain_one(one, path) for one in error.errors(include_url=False, include_input=False))


def _explain_one(one: Mapping[str, Any], path: Path | None) -> str:
    location = tuple(one["loc"])
    name = ".".join(str(part) for part in location)
    if one["type"] == "extra_forbidden":
        where = f" in {path}" if path is not None else ""
        return f"unknown setting `{name}`{where}{nearest(str(location[-1]), _section(location).model_fields)}"
    return f"setting `{name}`: {one['msg']}"


def _section(location: tuple[object, ...]) -> type[pydantic.BaseModel]:
    """The section that a key's path leads to; the names of contexts and the numbers of a list lead to none."""
    section: type[pydantic.BaseModel] = settings.Settings
    for part in location[:-1]:
        field = section.model_fields.get(str(part))
        section = (_model(field.annotation) if field is not None else None) or section
    return section


def _model(annotation: object) -> type[pydantic.BaseModel] | None:
    """The section in an annotation such as `tuple[RedactionRule, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    return next(filter(None, map(_model, get_args(annotation))), None)


def nearest(name: str, known: Iterable[str]) -> str:
    """A suggestion to end an error with; empty when nothing is near."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean `{close[0]}`?" if close else ""
