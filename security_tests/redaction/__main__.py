"""`python -m security_tests.redaction`: measure, print the figures and write the page."""

from __future__ import annotations

import sys

from security_tests.redaction import corpus, report


def main() -> None:
    """Print what leaks and what is harmed; with --write, write the docs' page."""
    for name, documents in (
        ("main", corpus.main()),
        ("held out", corpus.held_out()),
        ("third", corpus.third()),
        ("grammar", corpus.grammar()),
        ("fourth", corpus.fourth()),
        ("ordinary", corpus.ordinary()),
    ):
        figures = report.measure(documents)
        print(f"{name}: {figures.line}")
        for verdict in figures.verdicts:
            for secret in verdict.leaked:
                print(f"  leak   {verdict.document.name}: {secret.kind} in {secret.spot}: {secret.value[:60]!r}")
            for look in verdict.harmed:
                print(f"  harm   {verdict.document.name}: {look.kind}: {look.text[:160]!r}")
            for text in verdict.changed:
                print(f"  change {verdict.document.name}: {text}")
            if not verdict.valid:
                print(f"  BROKEN {verdict.document.name}")
    if "--write" in sys.argv:
        report.PAGE.write_text(report.page())


main()
