"""Which steps of a plan need which others: what a workload mounts, a namespace, the pods behind a Service.

Everything is known from the dry runs, so nothing is read for it. The lines have no text of the cluster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kubescript.changes import plan
from kubescript.kube import selectors

__all__ = ["describe"]

_MAX_STEPS: Final = 10
"""How many steps one line lists."""

_Place = tuple[str, str]
"""A namespace, and `configmaps/settings` in it."""


def describe(steps: Sequence[plan.Step]) -> list[tuple[str, ...]]:
    """Returns the lines of each step about the others that need it."""
    needed = _find(steps)
    return [tuple(_describe(index, steps[index], needed[index])) for index in range(len(steps))]


def _find(steps: Sequence[plan.Step]) -> defaultdict[int, set[int]]:
    """Returns the steps that need each step, by their index."""
    places: defaultdict[_Place, list[int]] = defaultdict(list)
    workloads: defaultdict[str, list[int]] = defaultdict(list)
    for index, step in enumerate(steps):
        if (not step.group or step.is_namespace) and not step.subresource:
            places[_place(step)].append(index)
        if step.precondition is None and step.new_pods is not None and step.new_pods.labels:
            workloads[step.namespace].append(index)
    needed: defaultdict[int, set[int]] = defaultdict(set)
    for index, step in enumerate(steps):
        others = [*_list_objects(step, places), *_list_selected(step, steps, workloads)]
        for other in others:
            if other != index:
                needed[other].add(index)
    return needed


def _place(step: plan.Step) -> _Place:
    # A namespace is an object of the cluster, although its requests are also about a namespace of that name.
    if step.is_namespace:
        return "", f"namespaces/{step.name}"
    return step.namespace, f"{step.resource}/{step.name}"


def _list_objects(step: plan.Step, places: Mapping[_Place, Sequence[int]]) -> Iterator[int]:
    """Yields the steps for the namespace of a step, and for the objects to which its pods refer."""
    if not step.is_namespace:
        yield from places.get(("", f"namespaces/{step.namespace}"), ())
    references = step.new_pods.references if step.new_pods is not None else ()
    for reference in references:
        yield from places.get((step.namespace, reference), ())


def _list_selected(
    step: plan.Step, steps: Sequence[plan.Step], workloads: Mapping[str, Sequence[int]]
) -> Iterator[int]:
    """Yields the steps that make workloads whose pods a Service selects."""
    if step.new_pods is None or (step.group, step.resource) != ("", "services"):
        return
    try:
        selects = selectors.labels(step.new_pods.selector)
    except selectors.SelectorError:
        return
    if selects is None:
        return
    for other in workloads.get(step.namespace, ()):
        pods = steps[other].new_pods
        if pods is not None and selects({"metadata": {"labels": pods.labels}}):
            yield other


def _describe(index: int, step: plan.Step, others: set[int]) -> Iterator[str]:
    """Yields a line about the steps that need a step: those after it, and those before it."""
    later = [other for other in sorted(others) if other > index]
    earlier = [other for other in sorted(others) if other < index]
    if later:
        yield _write(later) + (", but it is gone by then" if step.removes else "")
    if earlier:
        yield _write(earlier) + ("" if step.removes else ", and comes earlier")


def _write(others: Sequence[int]) -> str:
    """Returns `changes 3, 5 need this`."""
    shown = ", ".join(str(other + 1) for other in others[:_MAX_STEPS])
    if len(others) > _MAX_STEPS:
        shown += ", …"
    return f"change {shown} needs this" if len(others) == 1 else f"changes {shown} need this"
