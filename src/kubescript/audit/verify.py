"""Reads a chain from its first record to its last and reports the first altered one.

`kubescript audit verify` calls it, and so do the other audit commands before they trust a record.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kubescript.audit import chain, rotation

__all__ = ["Break", "Report", "as_text", "verify"]


@dataclass(frozen=True, slots=True)
class Break:
    """The first record that was altered."""

    file: str
    line: int
    kind: str
    """changed, removed, reordered or torn."""
    why: str


@dataclass(slots=True)
class Report:
    """The findings of a check so far."""

    path: Path
    """The current file of the chain."""
    files: int = 0
    records: int = 0
    first: int = 0
    """Number of the first record; above 0 when older files were removed."""
    head: chain.Head = field(default_factory=chain.Head)
    repairs: int = 0
    gaps: int = 0
    """How many records could not be written in time."""
    keyed: bool = False
    torn: bool = False
    """Whether the beginning of a record, without its end, stands behind the last one."""
    found: set[str] = field(default_factory=set)
    """Those of the wanted hashes that a record has."""
    broken: Break | None = None
    """The first record that is not as it was written; None if all are."""


class _Broken(Exception):
    def __init__(self, kind: str, why: str, line: int = 0) -> None:
        super().__init__(kind)
        self.kind = kind
        self.why = why
        self.line = line


def verify(path: Path, key: bytes | None = None, wanted: frozenset[str] = frozenset()) -> Report:
    """Checks the whole chain that ends in `path`, and looks for the `wanted` hashes in it."""
    report = Report(path)
    with rotation.frozen(path) as parts:
        for part in parts:
            report.files += 1
            checker = _Checker(report, key, wanted)
            report.broken = _check_file(part, report, checker, is_last=part is parts[-1])
            if report.broken is not None:
                return report
    return report


def _check_file(part: rotation.Part, report: Report, checker: _Checker, *, is_last: bool) -> Break | None:
    """Returns the first altered record of one file; None if there is none."""
    number = 0
    try:
        for number, line in enumerate(part.lines(), 1):
            checker.take(number, line)
        checker.end(is_last=is_last)
    except _Broken as error:
        line_number = error.line or number
        kind = error.kind
        if kind == "removed":
            kind = _classify_gap(part, line_number, report.head)
        return Break(part.path.name, line_number, kind, error.why)
    return None


class _Checker:
    """The check of one file's lines against the chain so far."""

    def __init__(self, report: Report, key: bytes | None, wanted: frozenset[str]) -> None:
        self._report = report
        self._key = key
        self._wanted = wanted
        self._torn: tuple[int, bytes, str] | None = None
        """Number, text and fault of a line that is not a record."""
        self._is_ended = True
        """Whether the last line has its newline."""

    def take(self, number: int, line: bytes) -> None:
        """Checks the next line. Raises _Broken."""
        if not self._is_ended:
            raise _Broken("changed", "the line before it is too long")
        content = line.removesuffix(b"\n")
        keyed = self._report.keyed or _says_keyed(content)
        try:
            record = chain.parse(content, self._key, keyed=keyed)
        except chain.Damaged as error:
            self._refuse_torn()
            self._torn = (number, line, str(error))
            return
        self._check_repair(record)
        self._check_link(record)
        self._is_ended = line != content
        self._count(record)

    def end(self, *, is_last: bool) -> None:
        """Checks the end of the file. Raises _Broken."""
        if self._torn is None:
            return
        # A killed server, of a pod that is gone, leaves half a record, which no other server repairs. The lock is ours,
        # so none is writing. Whoever cuts a record in two has removed it, which is not seen here either.
        _, line, _ = self._torn
        if is_last and self._report.records and not line.endswith(b"\n") and chain.is_torn(line):
            self._report.torn = True
            return
        self._refuse_torn()

    def _refuse_torn(self) -> None:
        """Raises _Broken for a line that is not a record, if there is one."""
        if self._torn is None:
            return
        number, line, why = self._torn
        if line.endswith(b"\n") or not chain.is_torn(line):
            raise _Broken("changed", why, number)
        raise _Broken("torn", "the line is incomplete", number)

    def _check_repair(self, record: dict[str, Any]) -> None:
        """Lets a repair record excuse the torn line before it, if it names that line. Raises _Broken."""
        if self._torn is None:
            return
        # A crash tore the line, and the next append recorded that: only a record that directly follows excuses it.
        torn = self._torn[1].removesuffix(b"\n")
        digest = hashlib.sha256(torn).hexdigest()
        named = (record.get("type"), record.get("torn_bytes"), record.get("torn_sha256"))
        if named != ("repair", len(torn), digest) or not chain.is_torn(torn):
            self._refuse_torn()
        self._torn = None

    def _check_link(self, record: dict[str, Any]) -> None:
        head = self._report.head
        seq = record["seq"]
        if not self._report.records:
            self._report.first = seq
            # A chain whose older files were removed begins with a later record.
            if seq == 0 and record["prev"] != chain.GENESIS:
                raise _Broken("changed", "the first record refers to an earlier one")
            return
        if seq > head.seq:
            raise _Broken("removed", f"records {head.seq} to {seq - 1} are missing")
        if seq < head.seq:
            raise _Broken("reordered", f"record {seq} stands where {head.seq} is expected")
        if record["prev"] != head.hash:
            raise _Broken("changed", f"record {seq} is chained to a record {seq - 1} that is not the one before it")

    def _count(self, record: dict[str, Any]) -> None:
        report = self._report
        report.head = chain.Head(record["seq"] + 1, record["hash"])
        report.records += 1
        if record.get("type") == "replaced":
            raise _Broken(
                "changed",
                f"record {record['record']} is missing here: while a server was running, the file was emptied, moved, "
                "removed or replaced",
            )
        if record["hash"] in self._wanted:
            report.found.add(record["hash"])
        if record.get("type") == "repair":
            report.repairs += 1
        if record.get("type") == "gap":
            report.gaps += record.get("records", 0)
        if record.get("keyed"):
            report.keyed = True


def _says_keyed(line: bytes) -> bool:
    """Says whether an unchecked line is the first of a file whose hashes are keyed."""
    return b'"keyed":true' in line and b'"type":"file"' in line


def _classify_gap(part: rotation.Part, number: int, head: chain.Head) -> str:
    """Returns whether the missing record was removed, or comes later in the same file."""
    for line in itertools.islice(part.lines(), number, None):
        try:
            record = chain.parse(line.removesuffix(b"\n"), None, keyed=True)
        except chain.Damaged:
            continue
        if record["seq"] == head.seq:
            return "reordered"
    return "removed"


def as_text(report: Report, *, checked: bool = True) -> str:
    """Returns the report in human-readable form. Not `checked`: the chain is keyed, and its key was not given."""
    if report.broken is not None:
        broken = report.broken
        whole = f"{report.records} records before it are whole"
        return f"BROKEN {broken.file} line {broken.line}: {broken.kind}: {broken.why}; {whole}"
    verdict = "are whole" if checked else "NOT CHECKED: their hashes are keyed; give --key FILE"
    files = "files" if report.files != 1 else "file"
    parts = [f"{report.records} records in {report.files} {files} {verdict}"]
    if report.first:
        parts.append(f"the chain begins at record {report.first}: older files are missing")
    if report.repairs:
        parts.append(f"{report.repairs} torn by a crash and repaired")
    if report.gaps:
        parts.append(f"{report.gaps} could not be written in time")
    if report.torn:
        parts.append("the last line is torn: a crash has cut it off, or somebody has, which --heads finds")
    if report.keyed and checked:
        parts.append("keyed")
    text = "; ".join(parts)
    if report.records:
        text += f"\nhead {report.head.hash} (record {report.head.seq - 1} of {report.path.name})"
    return text
