"""Checks that each `[[denied_resources]]` rule names something, and warns of a rule that does not.

A rule that names nothing denies nothing, so a typo must not go unnoticed. A name that no cluster can have prevents the
server's start. Only discovery can confirm the rest, after a cluster's first answer or in `doctor`:

    the group is served without the named resource       a mistake: `policy` denies the group until the rule is fixed
    the group is not served                              no mistake: the group may come later, and is denied then
    a rule without a group names nothing                 a warning; the rule denies what comes later
    discovery does not answer                            `policy` denies the group until it does
"""

from __future__ import annotations

import contextvars
import difflib
import logging
import re
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from kubescript import config, errors
from kubescript.policy import denied_resources, kind_resolver
from kubescript_sandbox.host import cancellation

__all__ = ["MISTAKEN", "Denials", "Finding", "examine", "read"]

log = logging.getLogger(__name__)

MISTAKEN: Final = "policy.mistaken_rule"
_PATIENCE_S: Final = 5.0
_AGAIN_S: Final = 60.0
"""Seconds before a cluster that did not answer is asked again."""
# Ratios of difflib: Certificat and Certificate have 0.95, networking.k8s.io and gateway.networking.k8s.io have 0.81.
_SIMILAR: Final = 0.75
_ALL_BUT_EQUAL: Final = 0.9
_SHAPES: Final = {
    "group": (re.compile(r"\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?|"), "an API group: `cert-manager.io`, without a version"),
    "kind": (
        re.compile(r"\*|[A-Za-z][A-Za-z0-9-]*|"),
        "a kind as in manifests (`Certificate`), or `resource` in its place (`pods/log`)",
    ),
    "resource": (
        re.compile(r"\*|[a-z0-9][a-z0-9.-]*(/[a-z0-9-]+)?|"),
        "a plural as in RBAC: `certificates`, `pods/log`",
    ),
}
"""The names that the API server accepts, or * alone, and the expectation that an error states."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of checking one rule."""

    rule: str
    text: str
    wrong: bool
    """Whether the rule is mistaken, as far as is known; otherwise it needs no correction."""
    told: bool = True
    """Whether the cluster's discovery answered."""
    context: str = ""


def read(given: config.DeniedResource) -> denied_resources.DeniedResource:
    """Converts a rule from the settings to one of the policy. Raises ConfigError for a name that no cluster can
    have."""
    group = "*" if given.group is None else given.group.strip().lower()
    kind = given.kind.strip()
    resource = given.resource.strip().lower()
    for name, text in (("group", group), ("kind", kind), ("resource", resource)):
        shape, wanted = _SHAPES[name]
        if not shape.fullmatch(text):
            shown = text[:100]
            raise errors.ConfigError(f"`denied_resources`: {name} {shown!r} cannot match anything; expected {wanted}")
    rule = denied_resources.DeniedResource(group or "core", given.version, kind, resource, given.serve)
    if given.serve == "keys" and not rule.is_about_secrets:
        raise errors.ConfigError(
            f'`denied_resources`: {rule.id[:100]!r} has no keys to serve: `serve = "keys"` is for Secrets',
            remedy='write `group = ""` and `kind = "Secret"`, or another `serve`',
        )
    if given.serve == "metadata" and "/" in resource:
        shown = resource[:100]
        raise errors.ConfigError(
            f"`denied_resources`: {shown!r} is a subresource, which has no metadata of its own; leave `serve` out"
        )
    return rule


class Denials:
    """The rules of one cluster that only discovery can confirm. Safe for use from many threads."""

    def __init__(
        self, rules: Iterable[denied_resources.DeniedResource], resolve: kind_resolver.KindResolver, context: str
    ) -> None:
        # What is built into Kubernetes exists without asking discovery.
        self._open = [rule for rule in rules if not rule.built_in]
        self._resolve = resolve
        self._context = context
        self._lock = threading.Lock()
        self._next = 0.0
        self._checking: threading.Thread | None = None
        self._hint()

    def check_later(self) -> None:
        """Runs `check` in a separate thread."""
        # Discovery may take seconds, and scripts should not wait for it.
        if self._is_due():
            # In this context: a cluster may accept only the token of the present request.
            context = contextvars.copy_context()
            self._checking = threading.Thread(
                target=context.run, args=(self.check,), name="kubescript-rules", daemon=True
            )
            self._checking.start()

    def close(self) -> None:
        """Waits for a running check, so that its warnings are not lost."""
        if self._checking is not None:
            self._checking.join(_PATIENCE_S)

    def check(self) -> None:
        """Warns once of each rule that names nothing; rules that the cluster could not confirm are checked again a
        minute later."""
        # One check at a time: otherwise each answer of a cluster would begin another while discovery is slow.
        if not self._is_due() or not self._lock.acquire(blocking=False):
            return
        try:
            findings = examine(self._open, self._resolve, _PATIENCE_S, self._context)
            for finding in findings:
                _warn(finding)
            unknown = {finding.rule for finding in findings if not finding.told}
            self._open = [rule for rule in self._open if rule.id in unknown]
            self._next = time.monotonic() + _AGAIN_S
        finally:
            self._lock.release()

    def _is_due(self) -> bool:
        """Says whether rules remain, and the last check is a minute old."""
        return bool(self._open) and time.monotonic() >= self._next

    def _hint(self) -> None:
        """Warns of a rule that resembles a built-in name, before any cluster is asked: it may be a typo."""
        for rule in self._open:
            cutoff = _ALL_BUT_EQUAL if rule.api_group is None else _SIMILAR
            built_in = denied_resources.list_built_in(rule)
            near = _find_near(rule, built_in, cutoff)
            if near:
                text = f"rule {rule.id} matches no built-in kind; did you mean {near}?"
                _warn(Finding(rule.id, text, wrong=True, context=self._context))


def examine(
    rules: Iterable[denied_resources.DeniedResource],
    resolve: kind_resolver.KindResolver,
    timeout_s: float,
    context: str = "",
) -> list[Finding]:
    """Returns findings on rules that name nothing, as far as the cluster answers in time."""
    until = _Until(time.monotonic() + timeout_s, cancellation.Cancellation())
    findings = []
    for rule in rules:
        if not rule.built_in:
            finding = _Check(rule, resolve, until, context).find()
            if finding is not None:
                findings.append(finding)
    return findings


class _Until(NamedTuple):
    deadline: float
    cancel: cancellation.Cancellation


@dataclass(frozen=True, slots=True)
class _Check:
    """The check of one rule against one cluster."""

    rule: denied_resources.DeniedResource
    resolve: kind_resolver.KindResolver
    until: _Until
    context: str

    def find(self) -> Finding | None:
        """Returns the finding; None when the rule is fine."""
        catalogue = self.resolve.catalogue(*self.until)
        left = self.until.deadline - time.monotonic()
        is_served = self.resolve.serves(self.rule, left, self.until.cancel)
        if catalogue is None or is_served is None:
            return self._report_unknown()
        group = self.rule.api_group
        if not catalogue.partial and group is not None and not catalogue.versions(group):
            return self._report_absent(catalogue)
        return None if is_served else self._report_mistaken(catalogue)

    def _report_unknown(self) -> Finding:
        """Returns the finding on a rule that discovery could not confirm."""
        text = "cannot be checked, because the cluster's discovery does not answer in full"
        if self.rule.api_group is not None:
            text += f"; until it can, all of {self.rule.group} is denied"
        return self._report(text, told=False)

    def _report_absent(self, catalogue: kind_resolver.Catalogue) -> Finding:
        """Returns the finding on a rule whose group is not served."""
        # Such a rule is fine, unless its group closely resembles one that is served.
        names = [one.name for one in catalogue.groups]
        close = difflib.get_close_matches(self.rule.group, names, n=1, cutoff=_ALL_BUT_EQUAL)
        text = "names a group that the cluster does not serve"
        if close:
            return self._report(f"{text}; did you mean {close[0]}?", wrong=True)
        return self._report(f"{text} yet; if the cluster serves it later, what the rule names is denied")

    def _report_mistaken(self, catalogue: kind_resolver.Catalogue) -> Finding:
        """Returns the finding on a rule that names nothing served."""
        near = _find_near(self.rule, self._list_offers(catalogue), _SIMILAR)
        meant = f" (did you mean {near}?)" if near else ""
        if self.rule.api_group is None:
            return self._report(f"matches nothing that the cluster serves{meant}, so it denies nothing", wrong=True)
        effect = f"until it is fixed, all of {self.rule.group} is denied"
        return self._report(f"matches nothing in the group {self.rule.group}{meant}; {effect}", wrong=True)

    def _list_offers(self, catalogue: kind_resolver.Catalogue) -> Iterator[dict[str, str]]:
        """Yields the offers of each version of the groups that the rule covers."""
        group = self.rule.api_group
        groups = catalogue.every()
        if group is not None:
            groups = {group: catalogue.versions(group)}
        for name, versions in groups.items():
            for version in versions:
                yield self.resolve.list_offers(name, version, *self.until)

    def _report(self, text: str, *, wrong: bool = False, told: bool = True) -> Finding:
        """Returns a finding whose text begins with the rule."""
        text = f"rule {self.rule.id} {text}"
        return Finding(self.rule.id, text, wrong, told, self.context)


def _find_near(rule: denied_resources.DeniedResource, offers: Iterable[dict[str, str]], cutoff: float) -> str:
    """Returns the offered names most similar to the rule's name, as text; empty if none is similar."""
    kinds_by_name: dict[str, str] = {}
    for offer in offers:
        kinds_by_name |= offer
    word = rule.kind
    candidates = list(kinds_by_name.values())
    if denied_resources.is_any(word):
        word = rule.resource
        candidates = list(kinds_by_name)
    by_lower = {candidate.lower(): candidate for candidate in candidates}
    close = difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=cutoff)
    return " or ".join(by_lower[name] for name in close)


def _warn(finding: Finding) -> None:
    about = {"event": "policy.rule", "context": finding.context, "rule": finding.rule}
    is_fine = finding.told and not finding.wrong
    level = logging.INFO if is_fine else logging.WARNING
    log.log(level, "%s", finding.text, extra=about)
