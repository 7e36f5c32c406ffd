"""Whether the chains of several replicas agree about the plans in them: each application leads to the plan, to its
approvals and to what other replicas have sent of it, which may be on the chain of another replica, and no plan was
applied twice.

`kubescript audit verify A B C` calls it when each chain is whole by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from kubescript.audit import reader
from kubescript.output import sanitizing

__all__ = ["Report", "as_text", "compare"]

_NOT_GIVEN: Final = "which is not given; if it was removed on purpose, compare the plans `--since` then"
_READS: Final = frozenset({"get", "list", "watch"})
_SHOWN: Final = 20
"""How many faults are shown."""
_Place = tuple[str, int]
"""A chain, and the number of a record in it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What the comparison has found."""

    applications: int
    """How many plans were applied, as a whole or in part."""
    faults: tuple[str, ...]
    gone: int
    """How many records are named that were in older files, which are missing."""
    early: int
    """How many plans are not compared, since they were applied too early."""


@dataclass(slots=True)
class _Chain:
    """One chain's part of the plans."""

    path: Path
    id: str = ""
    first: int = -1
    """Number of the first record that is there."""
    plans: dict[str, dict[str, Any]] = field(default_factory=dict)
    decisions: dict[int, dict[str, Any]] = field(default_factory=dict)
    starts: dict[int, dict[str, Any]] = field(default_factory=dict)
    ends: list[dict[str, Any]] = field(default_factory=list)
    sent: dict[str, set[str]] = field(default_factory=dict)
    """Maps each plan to the audit ids of the requests that have changed something."""
    begun: dict[str, set[str]] = field(default_factory=dict)
    """Maps each plan to the audit ids of all its writes, answered or not."""
    early: set[str] = field(default_factory=set)
    """Plans of whose application something is too early to be compared."""

    def forget(self, plans: set[str]) -> None:
        """Removes the applications of these plans."""
        for number, start in list(self.starts.items()):
            if start["plan"] in plans:
                del self.starts[number]
        self.ends = [end for end in self.ends if end["plan"] not in plans]
        for plan in plans:
            self.sent.pop(plan, None)


def compare(paths: Sequence[Path], since: datetime | None = None) -> Report:
    """Compares the chains that end in these files; with `since`, only plans whose application began then or later, so
    that files that were written last a day earlier may be gone: a plan expires within a day. Raises ConfigError for a
    file that is no audit record."""
    chains = [_read(path, since) for path in paths]
    early: set[str] = set()
    for chain in chains:
        early |= chain.early
    for chain in chains:
        chain.forget(early)
    return _Comparison(chains).run(len(early))


def _read(path: Path, since: datetime | None) -> _Chain:
    chain = _Chain(path)
    for record in reader.records(path):
        if chain.first < 0:
            chain.first = record["seq"]
        _sort(chain, record)
        if since is not None and _is_applied(record) and datetime.fromisoformat(record["time"]) < since:
            chain.early.add(record["plan"])
    return chain


def _sort(chain: _Chain, record: dict[str, Any]) -> None:
    """Keeps a record that is about a plan."""
    match record["type"]:
        case "file" if not chain.id:
            # Chains of older versions have no id. See `chain.identity`.
            chain.id = str(record.get("chain") or record["hash"])
        case "plan":
            chain.plans[record["plan"]] = _pick(record, "plan_hash", "approvals")
        case "decision":
            chain.decisions[record["seq"]] = _pick(record, "plan", "plan_hash", "approves", "hash")
        case "applying":
            chain.starts[record["seq"]] = record
        case "applied":
            chain.ends.append(record)
        case "sent" | "call" if _is_write(record):
            chain.begun.setdefault(record["plan"], set()).add(record["audit_id"])
            if 200 <= record.get("status", 0) < 300:
                chain.sent.setdefault(record["plan"], set()).add(record["audit_id"])


def _pick(record: dict[str, Any], *names: str) -> dict[str, Any]:
    """Returns these fields of a record."""
    return {name: record[name] for name in names}


def _is_write(record: dict[str, Any]) -> bool:
    """Says whether a call is a request of a plan that may change something."""
    return "plan" in record and not record.get("dry_run") and record.get("verb") not in _READS


def _is_applied(record: dict[str, Any]) -> bool:
    """Says whether a record is of the application of a plan."""
    kind = record["type"]
    return kind in {"applying", "applied"} or (kind in {"sent", "call"} and _is_write(record))


class _Comparison:
    """The comparison of several chains."""

    def __init__(self, chains: Sequence[_Chain]) -> None:
        self._chains = chains
        self._by_id = {each.id: each for each in chains}
        self._ends: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._sent: defaultdict[str, set[str]] = defaultdict(set)
        self._begun: defaultdict[str, set[str]] = defaultdict(set)
        self._approved: defaultdict[str, set[str]] = defaultdict(set)
        """Maps each plan to the hashes under which it was approved."""
        for chain in chains:
            self._add(chain)
        self._faults: list[str] = []
        self._gone = 0
        self._partial: set[str] = set()
        """Plans of whose starts one is not there."""

    def _add(self, chain: _Chain) -> None:
        """Adds a chain's records to those of each plan."""
        for end in chain.ends:
            self._ends[end["plan"]].append(end)
        for plan, audit_ids in chain.sent.items():
            self._sent[plan] |= audit_ids
        for plan, audit_ids in chain.begun.items():
            self._begun[plan] |= audit_ids
        for decision in chain.decisions.values():
            if decision["approves"]:
                self._approved[decision["plan"]].add(decision["plan_hash"])

    def run(self, early: int) -> Report:
        """Compares all records; `early` plans were left out before."""
        self._faults += self._list_same_chains()
        applied = set()
        for chain in self._chains:
            for start in chain.starts.values():
                applied.add(start["plan"])
                self._check_start(chain, start)
            begun = {start["plan"] for start in chain.starts.values()}
            for record in (*chain.starts.values(), *chain.ends):
                self._find_starts(record)
            # An older version has recorded no start. Attack: a replica sends an unapproved plan, and records none.
            for plan in chain.sent.keys() - begun:
                applied.add(plan)
                self._find_approval(chain, plan)
        for plan in sorted(applied | self._ends.keys()):
            self._check_once(plan)
            self._check_sent(plan)
        return Report(len(applied), tuple(dict.fromkeys(self._faults)), self._gone, early)

    def _list_same_chains(self) -> Iterator[str]:
        """Yields the files that are no chains of their own."""
        for chain in self._chains:
            other = self._by_id[chain.id]
            if other is not chain:
                yield f"{chain.path} and {other.path} are the same chain"

    def _check_start(self, chain: _Chain, start: dict[str, Any]) -> None:
        """Checks that what one start names is on record."""
        name = f"{chain.path} record {start['seq']}: plan {start['plan']}"
        made = self._find_plan(name, start)
        named = [each for each in start["decisions"] if each is not None]
        proven = {self._find_decision(name, start, each) for each in named}
        if len(named) < len(start["decisions"]):  # an older version has kept one of them
            self._find_approval(chain, start["plan"], start["plan_hash"])
            return
        needed = made["approvals"] if made is not None else 0
        if len(proven) < needed:
            self._faults.append(f"{name} was applied with {len(proven)} of {needed} approvals")

    def _find_plan(self, name: str, start: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the record of a plan that is applied; None, with the fault, if it is not there."""
        home = self._by_id.get(start["audit"])
        if home is None:
            self._faults.append(f"{name} was recorded in {_where(start['place'], start['audit'])}, {_NOT_GIVEN}")
            return None
        made = home.plans.get(start["plan"])
        if made is None and home.first > 0:
            self._gone += 1
        elif made is None or made["plan_hash"] != start["plan_hash"]:
            self._faults.append(f"{name} is not on record in {home.path} as it was applied")
            return None
        return made

    def _find_decision(self, name: str, start: dict[str, Any], named: dict[str, Any]) -> _Place:
        """Finds a decision that led to an application, or notes the fault; returns its place."""
        place = named["chain"], named["seq"]
        home = self._by_id.get(named["chain"])
        what = f"{name}: its approval is record {named['seq']} of"
        if home is None:
            self._faults.append(f"{what} {_where(named['place'], named['chain'])}, {_NOT_GIVEN}")
            return place
        found = home.decisions.get(named["seq"])
        if found is None and named["seq"] < home.first:
            self._gone += 1
            return place
        expected = {"plan": start["plan"], "plan_hash": start["plan_hash"], "approves": True, "hash": named["hash"]}
        if found != expected:
            self._faults.append(f"{what} {home.path}, which is not an approval of this plan")
        return place

    def _find_starts(self, record: dict[str, Any]) -> None:
        """Finds the starts that a record of a plan names, or notes the faults."""
        # Attack: a replica sends a plan's changes and dies, another one ends the plan, and the first one's file is
        # hidden.
        for named in record.get("starts", ()):  # older versions name none
            home = self._by_id.get(named["chain"])
            what = f"plan {record['plan']}: a start of it is record {named['seq']} of"
            if home is not None and home.starts.get(named["seq"], {}).get("hash") == named["hash"]:
                continue
            self._partial.add(record["plan"])
            if home is None:
                self._faults.append(f"{what} {_where(named['place'], named['chain'])}, {_NOT_GIVEN}")
            elif named["seq"] < home.first:
                self._gone += 1
            else:
                self._faults.append(f"{what} {home.path}, which has no such record")

    def _find_approval(self, chain: _Chain, plan: str, plan_hash: str = "") -> None:
        """Finds an approval of a plan whose application does not name it, as those of older versions do not."""
        hashes = self._approved[plan]
        if plan_hash in hashes or (hashes and not plan_hash):
            return
        if chain.first > 0:
            self._gone += 1
            return
        self._faults.append(f"{chain.path}: plan {plan} was applied, and has no approval on record")

    def _check_once(self, plan: str) -> None:
        """Checks that no request of a plan was carried out twice."""
        ends = self._ends[plan]
        done: defaultdict[int, set[str]] = defaultdict(set)
        known: set[str] = set()
        for end in ends:
            for number, step in enumerate(end["steps"]):
                known.add(step["audit_id"])
                if step["state"] == "done":
                    done[number].add(step["audit_id"])
        # A server that has died after it had recorded the end leaves a second record of the same requests.
        is_repeated = any(len(ids) > 1 for ids in done.values())
        is_complete = bool(ends) and not any(end["more_steps"] for end in ends)
        has_others = is_complete and not self._sent[plan] <= known
        if is_repeated or has_others:
            self._faults.append(f"plan {plan} was applied twice: a request of it was carried out under two audit ids")

    def _check_sent(self, plan: str) -> None:
        """Checks that what is done of a plan is on record, if all of its starts are."""
        if plan in self._partial:
            return
        steps = [step for end in self._ends[plan] if "starts" in end for step in end["steps"]]
        # Attack: a file is cut behind the start that others name.
        lost = {step["audit_id"] for step in steps if step["state"] == "done"} - self._begun[plan]
        if lost:
            self._faults.append(f"plan {plan}: {len(lost)} of its requests count as done, and are on no given file")


def _where(place: str, chain: str) -> str:
    """Names a file, by its place when it was written."""
    return f"{place} (chain {chain})" if place else f"the chain {chain}"


def as_text(report: Report) -> str:
    """Returns the report in human-readable form."""
    if report.faults:
        # A stranger may have written the files.
        lines = [f"BROKEN {sanitizing.printable(fault)}" for fault in report.faults[:_SHOWN]]
        if len(report.faults) > _SHOWN:
            lines.append(f"{len(report.faults) - _SHOWN} more faults")
        return "\n".join(lines)
    text = f"applied plans: {report.applications}; each approval is on record, and no plan was applied twice"
    if report.gone:
        text += f"; {report.gone} of their records were in older files, which are missing"
    if report.early:
        text += f"; {report.early} earlier ones were not compared"
    return text
