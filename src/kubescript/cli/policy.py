"""`kubescript policy …`: the commands about the policy. They need no cluster."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from kubescript.cli import flags, process, user_path

if TYPE_CHECKING:
    from kubescript import config
    from kubescript.cli import policy_cases

__all__ = ["policy"]

_FAILED: Final = 1


@click.group()
def policy() -> None:
    """Try the policy without a cluster."""


@flags.cluster_flags
@policy.command(short_help="Say what the policy decides about written or recorded requests.")
@click.argument("file", type=user_path.UserPath(dir_okay=False))
@click.pass_context
def test(context: click.Context, /, file: Path, **given: object) -> None:
    """Say for each request in FILE what the policy decides, and by which rule. Nothing is sent.

    FILE is a YAML list of cases, or an audit file. A case has a `request` (`method`, `path`, `query`, `body`,
    `content_type`) and may have the objects `before` and `after` it, and what to `expect`: allow, deny, plan or direct,
    and a `rule`. Exit code 1: a case has another outcome than it expects.
    """
    from kubescript import errors
    from kubescript.cli import policy_cases
    from kubescript.output import sanitizing

    try:
        settings = flags.settings(context, given)
        with _judges(settings) as judges:
            test_file = _audit if policy_cases.is_audit(file) else _cases
            failed = test_file(file, judges)
    except errors.KubescriptError as error:
        raise click.ClickException(sanitizing.clean(error.explained)) from None
    context.exit(_FAILED if failed else 0)


@contextlib.contextmanager
def _judges(settings: config.Settings) -> Iterator[dict[str, policy_cases.Judge]]:
    """Yields the judge of each cluster, the default one first. Raises ConfigError for invalid settings."""
    from kubescript import redaction
    from kubescript.changes.rules import write_settings
    from kubescript.cli import policy_cases
    from kubescript.policy import permissions

    # Changes are compared by the masking process, as they are in a server.
    expressions = write_settings.expressions(settings)
    is_strict = bool(settings.sandbox.strict)
    engine = redaction.Engine(settings.redaction, expressions=expressions, strict=is_strict)
    with contextlib.closing(engine):
        judges = {}
        for name in settings.context_names or ("",):
            own = settings.of_context(name) if name else settings
            calls = permissions.read(own)
            writes = write_settings.read(own.write_policy, own.mode, own.approval)
            judges[name] = policy_cases.Judge(calls, writes, engine.changes)
        yield judges


def _cases(file: Path, judges: dict[str, policy_cases.Judge]) -> bool:
    """Prints the outcome of each case; says whether any differs from the expected one."""
    from kubescript.cli import policy_cases

    failed = 0
    every = policy_cases.read(file)
    for case in every:
        result = policy_cases.judge_case(case, judges)
        _print(result)
        if result.unjudged:
            _say(f"         {result.unjudged}")
        if not result.meets(case):
            failed += 1
            expected = filter(None, (case.expect, case.rule))
            wanted = " by ".join(expected)
            _say(f"         FAILED: expected {wanted}")
    _say(f"{len(every)} cases, {failed} failed")
    return failed > 0


def _audit(file: Path, judges: dict[str, policy_cases.Judge]) -> bool:
    """Prints the outcome of each recorded call that would not be allowed now."""
    from kubescript.audit import reader
    from kubescript.cli import policy_cases

    sent: Counter[policy_cases.Result] = Counter()
    tried: Counter[policy_cases.Result] = Counter()
    seen = set()
    for record in reader.records(file):
        result = policy_cases.judge_record(record, judges)
        is_trial = bool(record.get("dry_run"))
        # Applying a plan tries its requests again.
        is_repeated = is_trial and bool(record.get("plan"))
        key = record.get("audit_id"), is_trial
        if result is None or is_repeated or key in seen:
            continue
        seen.add(key)
        counter = tried if is_trial else sent
        counter[result] += 1
    # The greater of the two counts: most writes are recorded after their dry run.
    results = sent | tried
    totals: Counter[str] = Counter()
    for result, count in results.items():
        totals[result.verdict] += count
        if result.verdict != "allow":
            _print(result, count)
    counts = [f"{count} {verdict}" for verdict, count in sorted(totals.items())]
    _say(", ".join(counts) or "no calls")
    _say("A record has no bodies, so what the requests would change was not judged.")
    return False


def _print(result: policy_cases.Result, count: int = 1) -> None:
    """Prints the verdict on a request, its rule and its notices."""
    line = f"{result.verdict:<8} {result.what}"
    if count > 1:
        line += f" ({count} times)"
    if result.rule:
        line += f": {result.rule}"
    if result.reason:
        line += f": {result.reason}"
    _say(line)
    for notice in result.notices:
        _say(f"         {notice.level} {notice.rule} tells the approver: {notice.message}")


def _say(line: str) -> None:
    """Prints a line, whose text may be of unknown origin."""
    from kubescript.output import sanitizing

    process.echo(sanitizing.printable(line))
