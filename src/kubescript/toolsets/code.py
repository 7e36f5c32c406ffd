"""Code mode: the one tool `evaluate_script`.

Its whole definition is paid for by every conversation, so it teaches only what a model that knows Python and the
official Kubernetes client cannot guess. Everything else is found inside the sandbox, or in an error that says what to
write instead.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import mcp_types

from kubescript import config, evaluator, types
from kubescript.toolsets import base

__all__ = ["NAME", "PAGES", "TRIAGE", "pages", "toolset"]

NAME: Final = "code"

_DESCRIPTION: Final = Path(__file__).with_name("evaluate_script.txt")
"""What the model reads."""

_READ_ONLY: Final = "Read-only: writes, exec and Secrets are refused (an access review tells RBAC, not this)."
_READ_WRITE: Final = "Writes change the cluster at once; exec and Secrets are refused."
_SEVERAL: Final = (
    "Clusters: {names}; k8s is the first. Each has its own policy{writable}. Catch ApiException: one may be down."
)
_ROOM_FOR_NAMES: Final = 44
"""Characters of cluster names in the definition, which every conversation pays for; `k8s.contexts()` has them all."""

_EXAMPLE: Final = "Counter(p.spec.node_name for p in k8s.coreV1().list_pod_for_all_namespaces())"
_EXAMPLE_OF_SEVERAL: Final = "{c: len(k8s.context(c).coreV1().list_node()) for c in k8s.contexts()}"

PAGES: Final = "kubescript://sdk/"
_MARKDOWN: Final = "text/markdown"
_PACKAGE: Final = Path(__file__).parent.parent
_FOLDERS: Final = (_PACKAGE / "sdk_docs", _PACKAGE.parent.parent / "sdk_docs")
"""In an installed package; in a checkout."""
_FIRST: Final = ("index", "differences", "objects", "lists", "errors", "dynamic")
"""Topics stand before the pages of each client."""

_TRIAGE_TEXT: Final = Path(__file__).with_name("triage.txt")
"""What the model reads."""

_OUTPUT: Final = {
    "type": "object",
    "properties": {
        "result": {"description": "value of the last expression"},
        "printed": {"type": "string"},
        "missing": {"type": "array", "items": {"type": "string"}, "description": "what the result lacks"},
    },
    "required": ["result"],
}
"""Of structured results, which operators switch on; it counts as part of the definition then."""


def toolset(settings: config.Settings, session: evaluator.Evaluator) -> base.Toolset:
    """The code toolset for these settings."""

    async def evaluate_script(
        arguments: Mapping[str, Any], on_progress: evaluator.OnProgress | None, caller: types.Caller
    ) -> types.Answer:
        return await session.evaluate(arguments["script"], arguments.get("timeout"), on_progress, caller)

    tool = base.Tool(_definition(settings), evaluate_script)
    what = "evaluate a Python script in a sandbox beside the API server"
    return base.Toolset(NAME, what, (tool,), pages(), (TRIAGE,))


def _definition(settings: config.Settings) -> mcp_types.Tool:
    limits = settings.limits
    return mcp_types.Tool(
        name="evaluate_script",
        title="Evaluate a Kubernetes script",
        description=_DESCRIPTION.read_text("utf-8")
        .strip()
        .format(
            access=_access(settings),
            example=_EXAMPLE_OF_SEVERAL if len(settings.context_names) > 1 else _EXAMPLE,
            memory=limits.memory_mib,
            calls=limits.api_calls,
            output=limits.output_kib,
        ),
        input_schema=_input(limits),
        output_schema=_OUTPUT if settings.output.structured else None,
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=not settings.writable,
            destructive_hint=settings.writable,
            idempotent_hint=not settings.writable,
            open_world_hint=True,
        ),
    )


def _input(limits: config.Limits) -> dict[str, Any]:
    """What the tool takes."""
    return {
        "type": "object",
        "properties": {
            "script": {"type": "string", "description": "Python; the last expression is returned", "minLength": 1},
            "timeout": {
                "type": "integer",
                "description": "milliseconds",
                "default": limits.default_timeout_ms,
                "minimum": 1,
                "maximum": limits.max_timeout_ms,
            },
        },
        "required": ["script"],
        "additionalProperties": False,
    }


def _access(settings: config.Settings) -> str:
    """What scripts may do, and where."""
    names = settings.context_names
    if len(names) < 2:
        return _READ_WRITE if settings.writable else _READ_ONLY
    open_ = [name for name in names if not settings.of_context(name).read_only]
    few = ", ".join(open_)
    few = "all" if len(open_) == len(names) else few if len(few) <= _ROOM_FOR_NAMES // 2 else f"{len(open_)} of them"
    writable = f"; writes reach {few}" if open_ else ""
    shown = _fitting(names, _ROOM_FOR_NAMES)
    return f"{_READ_WRITE if open_ else _READ_ONLY} " + _SEVERAL.format(names=shown, writable=writable)


def _fitting(names: Sequence[str], room: int) -> str:
    """The names, as many as there is room for, and how many there are in all."""
    whole = ", ".join(names)
    if len(whole) <= room:
        return whole
    shown = [name for place, name in enumerate(names) if len(", ".join(names[: place + 1])) <= room]
    return ", ".join([*shown, f"… ({len(names)} in all)"])


def pages() -> tuple[base.Page, ...]:
    """Every page, the introduction first; none when the files are not there."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), None)
    files = folder.glob("*.md") if folder is not None else ()
    return tuple(_page(path) for path in sorted(files, key=_place))


def _place(path: Path) -> tuple[int, str]:
    return (_FIRST.index(path.stem) if path.stem in _FIRST else len(_FIRST), path.stem)


def _page(path: Path) -> base.Page:
    definition = mcp_types.Resource(
        name=path.stem,
        title=_title(path),
        uri=PAGES + path.stem,
        mime_type=_MARKDOWN,
    )
    return base.Page(definition, functools.partial(_read, path))


def _read(path: Path) -> str:
    """The page without the comment that tells people of the repository where it comes from."""
    text = path.read_text("utf-8")
    return text.partition("\n")[2] if text.startswith("<!--") else text


def _title(path: Path) -> str:
    """The first heading."""
    with path.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), path.stem)


def _write(arguments: Mapping[str, str]) -> str:
    namespace, symptom = (arguments.get(name, "").strip() for name in ("namespace", "symptom"))
    where = f"namespace {namespace}" if namespace else "the whole cluster"
    return _TRIAGE_TEXT.read_text("utf-8").strip().format(where=where, symptom=f": {symptom}" if symptom else "")


TRIAGE: Final = base.Prompt(
    mcp_types.Prompt(
        name="triage",
        title="Find out what is wrong",
        description="Find the cause of a problem in the cluster or a namespace, with a few scripts.",
        arguments=[
            mcp_types.PromptArgument(name="namespace", description="where to look; everywhere when left out"),
            mcp_types.PromptArgument(name="symptom", description="what was noticed, in your words"),
        ],
    ),
    _write,
)
