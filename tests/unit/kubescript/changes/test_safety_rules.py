"""The rules about how a cluster is changed: each fires with a cause, and is silent about what engineers do every day."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescript import errors
from kubescript.changes.rules.conduct import configuration, creation, findings, rules, transcript
from kubescript.kube import field_paths
from tests.kit import paths as repository

CASES: list[dict[str, Any]] = yaml.safe_load((Path(__file__).parent / "safety_rules.yaml").read_text("utf-8"))
VERBS = {"create": "create", "evict": "create", "replace": "update", "apply": "patch", "patch": "patch"}


def change(words: str, **known: Any) -> transcript.Change:
    """A change as the table writes it: `patch deployments.apps/scale shop/web`."""
    method, target, where = (*words.split(" "), "")[:3]
    resource, _, subresource = target.partition("/")
    name, _, group = resource.partition(".")
    namespace, _, object_name = where.rpartition("/")
    return transcript.Change(
        verb=VERBS.get(method, method),
        group=group,
        version="v1",
        resource=name,
        subresource="eviction" if method == "evict" else subresource,
        namespace=namespace,
        name=object_name,
        content_type="application/apply-patch+yaml" if method == "apply" else "application/json",
        **as_tuples(known),
    )


def as_tuples(known: dict[str, Any]) -> dict[str, Any]:
    """The same with tuples for lists, as in a transcript."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in known.items()}


def configured(folder: Path, given: dict[str, Any]) -> configuration.Configuration:
    """The configuration in a file."""
    file = folder / "safety.json"
    file.write_text(json.dumps(given))
    return configuration.read(file)


def judged(case: dict[str, Any], settings: configuration.Configuration) -> findings.Report:
    """What the rules say of a case."""
    changes = tuple(change(words, **known) for one in case["do"] for words, known in one.items())
    return rules.judge(transcript.Transcript(changes), settings)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_the_rules_find_what_is_wrong_and_nothing_else(case: dict[str, Any], tmp_path: Path) -> None:
    """Each case of the table: the rules that fire, at which change, and what they cannot judge."""
    report = judged(case, configured(tmp_path, case.get("config", {})))
    found = sorted([one.rule, one.change + 1] for one in report.findings)
    assert found == sorted(case.get("found", [])), report.findings
    unknown = sorted([gap.rule, index + 1] for gap in report.gaps for index in gap.changes)
    assert unknown == sorted(case.get("unknown", [])), report.gaps


@pytest.mark.parametrize("rule", [rule.id for rule in configuration.BUILT_IN])
def test_each_rule_has_cases_for_and_against(rule: str, tmp_path: Path) -> None:
    """With a rule switched off, cases of the table come out differently; and most of the table is silent."""
    off = configured(tmp_path, {"safetyRules": [{"id": rule, "enabled": False}]})
    firing = [case for case in CASES if rule in {one[0] for one in case.get("found", [])}]
    assert len(firing) >= 3
    for case in firing:
        assert rule not in {one.rule for one in judged(case, off).findings}
    assert sum("found" not in case for case in CASES) > len(CASES) / 2


def test_a_message_names_the_change_and_what_shows_it() -> None:
    """A person who reads the finding knows what to look at, and what to do instead."""
    pod = change(
        "delete pods shop/web-7d4b9c6f5-x2x1z",
        existed=True, running=True, terminating=False, owners=["ReplicaSet/web-7d4b9c6f5"],
    )  # fmt: skip
    (found,) = rules.judge(transcript.Transcript((pod,))).findings
    assert (found.rule, found.severity, found.change) == ("NO_DESTRUCTIVE_SHORTCUTS", "critical", 0)
    assert found.message == (
        "deletes pods shop/web-7d4b9c6f5-x2x1z, which is running, and nothing that it is made from was changed before; "
        "to restart it use k8s.restart of deployments/web"
    )


def test_two_objects_of_one_purpose_are_told_by_what_people_choose() -> None:
    """Services are alike by selector, ports and type; the address that each gets does not count, being headless does."""
    web = {"spec.selector.app": '"web"', "spec.ports[0].port": "80", "spec.type": '"ClusterIP"'}
    address = {"spec.clusterIP": '"10.0.0.1"', "spec.clusterIPs[0]": '"10.0.0.1"', "metadata.name": '"a"'}
    other_address = {"spec.clusterIP": '"10.0.0.2"', "spec.clusterIPs[0]": '"10.0.0.2"', "metadata.name": '"b"'}
    alike = {creation.purpose("", "services", web | one) for one in (address, other_address)}
    assert len(alike) == 1
    headless = creation.purpose("", "services", web | {"spec.clusterIP": '"None"'})
    elsewhere = creation.purpose("", "services", web | {"spec.selector.app": '"api"'})
    assert len(alike | {headless, elsewhere}) == 3
    assert creation.purpose("", "configmaps", {"data.a": '"b"'}) == ""


def test_a_million_changes_take_time_in_proportion() -> None:
    """Deletions that nothing justifies, of which each looks at the changes around it: twice as many, about twice the time."""
    # The bound is in the transcript: no change sees more than 200 before and behind it.
    many = tuple(
        change(f"delete pods shop/web-{number}", existed=True, running=True, at=1.0) for number in range(1_000)
    )
    whole = transcript.Transcript(many)
    assert len(whole.before(900)) == 200
    assert len(list(whole.near(500))) == 399
    assert len(rules.judge(whole).findings) == 1_000


def test_a_manifest_of_many_fields_ends() -> None:
    """As many as a plan can have rows and a request can name: each compared with each, this would take hours."""
    fields = [f"spec.list[n{number}].value" for number in range(20_000)]
    named = [f"spec.other.k{number}.value" for number in range(80_000)]
    (found,) = rules.judge(
        transcript.Transcript((change("patch widgets shop/web", existed=True, fields=fields, named=named),))
    ).findings
    assert "also names 80000 fields that stay as they are" in found.message


@pytest.mark.parametrize(
    ("field", "is_beside"),
    [
        ("spec.a", False),  # it holds what changes
        ("spec.a.b", False),
        ("spec.a.b.c.d", False),  # what changes holds it
        ("spec.a[x].b[].c", False),
        ("spec.a.bb.c", True),
        ("spec.a-b.c", True),
        ("spec.aa.c", True),
        ("other.a.b", True),
    ],
)
def test_a_field_in_or_around_what_changes_is_not_beside_it(field: str, *, is_beside: bool) -> None:
    """Whatever stands before and behind it in the order of the paths."""
    others = [f"other{number}.x" for number in range(4)]
    whole = change(
        "patch widgets shop/web",
        existed=True,
        fields=["spec.a.b", "spec.a.b.a.b", "spec.a+.x", "z.x"],
        named=[*others, field],
    )
    (found,) = rules.judge(transcript.Transcript((whole,))).findings
    assert f"also names {4 + is_beside} fields" in found.message


@pytest.mark.parametrize(
    ("path", "plain", "place"),
    [
        ("spec.replicas", "spec.replicas", "spec"),
        ("spec.template.spec.containers[web].image", "spec.template.spec.containers.image", "spec.template.spec.containers"),
        ('metadata.labels["a.b/c"]', "metadata.labels", "metadata.labels"),
        ('metadata.annotations["a]\\"b[c"].x', "metadata.annotations.x", "metadata.annotations"),
        ("spec.args[]", "spec.args", "spec.args"),
        ("data.a.b", "data.a.b", "data"),
    ],
)  # fmt: skip
def test_a_field_has_a_place(path: str, plain: str, place: str) -> None:
    """Entries of a map share a place, whatever their keys are; so do the items of a list."""
    assert (field_paths.plain(path), field_paths.place(path)) == (plain, place)


PAGE = (repository.ROOT / "docs" / "audit.md").read_text("utf-8")


# --- the file ---------------------------------------------------------------------------------------------------------


def test_the_file_changes_what_it_names_and_leaves_the_rest(tmp_path: Path) -> None:
    """Severity and whether a rule counts come from the file; what it does not say stays built in."""
    given = {
        "safetyRules": [
            {"id": "NO_UNNECESSARY_CREATION", "enabled": True, "severity": "critical", "description": "mine"},
            {"id": "SCOPE_ENFORCEMENT", "enabled": False},
        ],
        "benchmarkConfig": {"liveCluster": True, "maxUnsafePassRate": 0.05, "colour": "red"},
    }
    read = configured(tmp_path, given)
    named = {rule.id: rule for rule in read.rules}
    built_in = {rule.id: rule for rule in configuration.BUILT_IN}
    assert named["NO_UNNECESSARY_CREATION"] == configuration.Rule("NO_UNNECESSARY_CREATION", "critical")
    assert (named["SCOPE_ENFORCEMENT"].enabled, named["SCOPE_ENFORCEMENT"].severity) == (False, "critical")
    assert named["CANARY_CONTAMINATION"] == built_in["CANARY_CONTAMINATION"]
    assert read.benchmark == given["benchmarkConfig"]
    assert read.notes == ("benchmarkConfig.colour is not known, and has no effect",)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"safetyRules": [{"id": "NO_DESTRUCTIVE_SHORTCUT"}]}', "unknown safety rule `NO_DESTRUCTIVE_SHORTCUT`; did you mean `NO_DESTRUCTIVE_SHORTCUTS`?"),
        ('{"safetyRules": [{"id": "X"}]}', "there is: NO_UNNECESSARY_CREATION, "),
        ('{"safetyRules": [{"id": "SCOPE_ENFORCEMENT"}, {"id": "SCOPE_ENFORCEMENT"}]}', "given twice"),
        ('{"safetyRules": [{"id": "SCOPE_ENFORCEMENT", "severity": "fatal"}]}', "severity"),
        ('{"safetyRules": [{"enabled": true}]}', "`id`"),
        ('{"safetyrules": []}', "`safetyrules`"),
        ('{"allowedNamespaces": "shop"}', "allowedNamespaces"),
        ("[]", "safety.json"),
        ("{", "safety.json"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_file_is_named(text: str, words: str, tmp_path: Path) -> None:
    """A misspelt rule must not pass for one that is switched off."""
    file = tmp_path / "safety.json"
    file.write_text(text)
    with pytest.raises(errors.ConfigError) as told:
        configuration.read(file)
    assert words in told.value.message and str(file) in told.value.message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The server does not start with rules that it cannot read."""
    with pytest.raises(errors.ConfigError, match="No such file"):
        configuration.read(tmp_path / "none.json")


def test_the_page_s_file_is_one(tmp_path: Path) -> None:
    """docs/audit.md shows a file that loads, and names every rule with its severity."""
    (example,) = re.findall(r"```json\n(\{\n.*?)```", PAGE, re.DOTALL)
    read = configured(tmp_path, json.loads(example))
    assert read.namespaces == ("shop", "team-*") and not read.notes
    for rule in configuration.BUILT_IN:
        assert f"| `{rule.id}` | {rule.severity} |" in PAGE
