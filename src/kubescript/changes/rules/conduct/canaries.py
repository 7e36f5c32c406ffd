"""CANARY_CONTAMINATION: a healthy canary must stay unchanged while its stable twin is changed.

A canary is a workload with a canary label, or with the word in its name. It is permitted to change a canary alone, to
shift replicas between the two, and to promote the canary's images.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubescript.changes.rules.conduct import configuration, findings, transcript
from kubescript.kube import kinds

__all__ = ["check", "stem"]

_CANARY: Final = "canary"
_TWINS: Final = frozenset({"active", "baseline", "canary", "preview", "primary", "stable"})
"""Words that distinguish a canary's name from its twin's."""
_WORKLOADS: Final = frozenset({
    "daemonsets", "deployments", "pods", "replicasets", "replicationcontrollers", "rollouts", "statefulsets",
})  # fmt: skip
_OWNED: Final = frozenset({"pods", "replicasets"})
_OF_A_VERSION: Final = frozenset({
    "app.kubernetes.io/instance", "app.kubernetes.io/version", "controller-revision-hash", "helm.sh/chart",
    "pod-template-hash", "pod-template-generation", "rollouts-pod-template-hash",
})  # fmt: skip
"""Labels in which twins may differ."""


def check(changes: transcript.Transcript, settings: configuration.Configuration) -> findings.Remarks:
    """Yields changes of healthy canaries whose stable twin is changed in the same transcript."""
    marks = [_mark(change, settings) for change in changes.changes]
    candidates = [_is_candidate(change) for change in changes.changes]
    for index, change in enumerate(changes.changes):
        mark = marks[index]
        if not mark or not candidates[index] or change.healthy is False:
            continue
        twins = []
        for place, other in changes.near(index):
            is_stable = candidates[place] and not marks[place]
            if is_stable and _are_twins(change, other, settings):
                twins.append(other)
        if not twins or _is_promotion(change, twins):
            continue
        if change.healthy is None:
            yield findings.Unknown(index, "whether the canary was healthy")
            continue
        message = (
            f"{change.method} of {change.target}, a healthy canary ({mark}), together with its stable twin "
            f"{twins[0].target}: leave the canary as it is, or change it in a plan of its own"
        )
        yield findings.Violation(index, message)


def stem(name: str) -> str:
    """Returns the name without the words by which twins differ: `web` for `web-canary`."""
    words = name.split("-")
    return "-".join(word for word in words if word not in _TWINS)


def _is_candidate(change: transcript.Change) -> bool:
    """Says whether the change is to an existing workload, and not only to its replicas."""
    if change.resource not in _WORKLOADS:
        return False
    return change.existed is not False and not change.only_scales


def _mark(change: transcript.Change, settings: configuration.Configuration) -> str:
    """Returns what marks the object as a canary; an empty string if nothing does."""
    labels = change.labels or {}
    for key, value in labels.items():
        if settings.canary_labels.get(key) == value:
            return f"label {key}={value}"
    _, name = _workload(change)
    words = name.split("-")
    return f"name {name}" if _CANARY in words else ""


def _workload(change: transcript.Change) -> tuple[str, str]:
    """Returns the resource and name of the owning workload; for a pod, those of its outermost controller."""
    if not change.owners or change.resource not in _OWNED:
        return change.resource, change.name
    outermost = change.owners[-1]
    kind, _, name = outermost.partition("/")
    # The ReplicaSet of a Deployment has this form of name.
    if kind == "ReplicaSet":
        workload, _, _ = name.rpartition("-")
        return "deployments", workload
    return kinds.guess_plural(kind), name


def _are_twins(canary: transcript.Change, other: transcript.Change, settings: configuration.Configuration) -> bool:
    """Says whether the two differ in name or labels only by marks of a canary."""
    kind, name = _workload(canary)
    other_kind, other_name = _workload(other)
    if kind != other_kind or canary.namespace != other.namespace or name == other_name:
        return False
    programs = _programs(canary.images)
    other_programs = _programs(other.images)
    is_same_program = not programs.isdisjoint(other_programs)
    # The DaemonSet loki-canary monitors Loki, and is not its canary: it runs another program.
    if programs and other_programs and not is_same_program:
        return False
    if stem(name) == stem(other_name):
        return True
    # Labels alone would make all of a team's workloads twins.
    if not is_same_program:
        return False
    labels = _share_labels(canary.labels, settings)
    return bool(labels) and labels == _share_labels(other.labels, settings)


def _share_labels(labels: Mapping[str, str] | None, settings: configuration.Configuration) -> dict[str, str]:
    """Returns the labels that twins share."""
    own = settings.canary_labels.keys() | _OF_A_VERSION
    known = labels or {}
    return {key: value for key, value in known.items() if key not in own}


def _programs(images: tuple[str, ...] | None) -> set[str]:
    """Returns the names of the images without tags and digests."""
    names = set()
    for image in images or ():
        tagged, _, _ = image.partition("@")
        # A colon before the last slash precedes the registry's port.
        folder, slash, last = tagged.rpartition("/")
        name, _, _ = last.partition(":")
        names.add(folder + slash + name)
    return names


def _is_promotion(canary: transcript.Change, twins: list[transcript.Change]) -> bool:
    """Says whether a stable twin gets the canary's previous images."""
    tried = set(canary.images or ())
    return not all(tried.isdisjoint(twin.new_images) for twin in twins)
