"""Operators' own rules in CEL, evaluated in a real masking process on what a write changes."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kubescript import config, errors, redaction
from kubescript.inspection import expressions
from kubescript.request import request
from kubescript.wire import exchanges, inspection
from kubescript_masking.rules.probes import RuleError

WEB: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web", "example.com/owner": "ann"}},
    "spec": {
        "replicas": 2,
        "template": {
            "spec": {
                "containers": [
                    {"name": "web", "image": "registry.example.com/web:1", "resources": {"limits": {"memory": "1Gi"}}},
                    {"name": "log", "image": "registry.example.com/log:1"},
                ]
            }
        },
    },
}
HOLD = {
    "a field": "object.spec.replicas == 5",
    "the object before": "object.spec.replicas > oldObject.spec.replicas",
    "numbers of two types": "object.spec.replicas > 1.5",
    "all": "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
    "exists": "object.spec.template.spec.containers.exists(c, has(c.resources.limits))",
    "a field that is not there": "!has(object.spec.paused)",
    "an optional field": "object.spec.?paused.orValue(false) == false",
    "a label": "object.metadata.labels['example.com/owner'] == 'ann'",
    "a pattern": "object.metadata.name.matches('^[a-z]+$')",
    "texts": "object.metadata.name.upperAscii() == 'WEB' && 'a,b'.split(',').size() == 2",
    "a list that is made": "object.spec.template.spec.containers.map(c, c.name).filter(n, n != 'log') == ['web']",
    "the namespace": "request.namespace == 'shop' && object.metadata.namespace == 'shop' && request.name == 'web'",
    "the kind": "request.kind.kind == 'Deployment' && request.kind.group == 'apps' && request.kind.version == 'v1'",
    "the resource": "request.resource.resource == 'deployments' && request.subResource == ''",
    "what it does": "request.operation == 'UPDATE'",
    "a choice": "object.kind == 'Deployment' ? object.spec.replicas < 10 : object.nothing",
    "what an error cannot change": "object.nothing == 1 || true",
}
FAIL = {
    "what is false": ("object.spec.replicas <= 3", ""),
    "a field that is missing": ("object.spec.paused == true", "missing"),
    "a label that is missing": ("object.metadata.labels['x'] == ''", "missing"),
    "a field of a text": ("object.metadata.name.first == 'w'", "another type"),
    "a text as a number": ("object.metadata.name > 3", "another type"),
    "a text as a condition": ("object.metadata.name", "neither true nor false"),
    "a division by zero": ("1 / (object.spec.replicas - 5) == 1", "zero"),
    "a number that is too large": ("object.spec.replicas + 9223372036854775807 > 0", "too large"),
    "a pattern that is none": ("object.metadata.name.matches('(')", "cannot be evaluated"),
}
MANY = list(range(99))
STEPS = "object.spec.many.all(a, object.spec.many.all(b, object.spec.many.all(c, c >= 0)))"
MEMORY = "object.spec.many.map(a, object.spec.many.map(b, object.spec.large + object.spec.large)).size() > 0"
WRONG = {
    "object.spec.replicas = 3": "column 22",
    "object.spec.replicas > ": "Syntax error",
    "objekt.spec.replicas > 3": "objekt",
    "object.spec.replicas.sum() > 3": "sum",
    "params.most > 3": "params",
    "'a' > 1": "overload",
    "size(object.spec)": "type int",
    "'true'": "type string",
    "(" * 100 + "true" + ")" * 100: "recursion limit",
}


OTHERS = {
    "a small number": "object.spec.replicas < 3",
    "a field": "object.spec.paused",
    "a creation": "request.operation == 'CREATE' && oldObject == null && object.kind == 'Deployment'",
    "a deletion": "request.operation == 'DELETE' && object == null && request.kind.kind == 'Deployment'",
    "a note": "!has(object.spec.note) || object.spec.note == 'web'",
    "some replicas": "object.spec.replicas > 0",
}
SAID = {"a small number": "ask ann first", "a field": "ask ann first"}
"""What is said instead of a rule."""


def engine(*texts: str) -> redaction.Engine:
    """A masking engine with these rules."""
    given = tuple(inspection.Expression(f"rule-{at}", text) for at, text in enumerate(texts))
    return redaction.Engine(config.Redaction(), expressions=given)


@pytest.fixture(scope="module")
def every() -> Iterator[redaction.Engine]:
    """An engine with all rules that are cheap: `hold-…`, `fail-…` and `other-…`."""
    groups = {"hold": HOLD, "fail": {name: text for name, (text, _) in FAIL.items()}, "other": OTHERS}
    given = tuple(
        inspection.Expression(f"{group}-{at}", text, SAID.get(name, "") if group == "other" else "")
        for group, texts in groups.items()
        for at, (name, text) in enumerate(texts.items())
    )
    opened = redaction.Engine(config.Redaction(), expressions=given)
    yield opened
    opened.close()


def other(*names: str) -> tuple[str, ...]:
    """The ids of these rules."""
    return tuple(f"other-{list(OTHERS).index(name)}" for name in names)


PATCH = request.parse(
    exchanges.Call(
        "PATCH",
        ("apis", "apps", "v1", "namespaces", "shop", "deployments", "web"),
        body=msgspec.Raw(b'{"spec":{"replicas":5}}'),
        content_type="merge-patch",
    )
)


def compared(
    rules: redaction.Engine, before: Any, after: Any, call: request.Request = PATCH, *, about: tuple[str, ...] = ("",)
) -> tuple[inspection.Objection, ...]:
    """The rules that do not hold for a change; those `about` which a test is, by the beginnings of their ids."""
    documents = [b"" if each is None else json.dumps(each).encode() for each in (before, after)]
    found = rules.changes(call, documents[0], documents[1], lambda _: None).objections
    return tuple(each for each in found if each.rule.startswith(about))


def changed(**fields: Any) -> dict[str, Any]:
    """The object with five replicas, and other fields of its specification."""
    after = copy.deepcopy(WEB)
    after["spec"] |= {"replicas": 5, **fields}
    return after


def test_rules_are_evaluated_as_kubernetes_admission_does(every: redaction.Engine) -> None:
    """The names of a ValidatingAdmissionPolicy mean the same here."""
    assert compared(every, WEB, changed(), about=("hold-",)) == ()


def test_a_rule_that_is_false_or_cannot_be_evaluated_objects_and_says_why(every: redaction.Engine) -> None:
    """What is not known to hold does not hold; the reason quotes nothing of the object."""
    objections = compared(every, WEB, changed(), about=("fail-",))
    assert len(objections) == len(FAIL)
    for objection, (expression, why) in zip(objections, FAIL.values(), strict=True):
        beginning = f"`{expression}` must hold"
        assert objection.message.startswith(beginning)
        rest = objection.message.removeprefix(beginning)
        assert (rest == "") if not why else why in rest
        assert "web" not in rest
    assert compared(every, WEB, changed(), about=("fail-",)) == objections


def test_a_rule_s_own_message_is_what_is_said(every: redaction.Engine) -> None:
    """With the reason where it cannot be evaluated."""
    about = other("a small number", "a field")
    said = [objection.message for objection in compared(every, WEB, changed(), about=about)]
    assert said == ["ask ann first", "ask ann first (a field or key in it is missing)"]


def test_creations_and_deletions_are_told_apart(every: redaction.Engine) -> None:
    """Where there is no object, it is null; an apply that makes its object is a creation."""
    create, delete = other("a creation", "a deletion")
    assert [each.rule for each in compared(every, None, WEB, about=(create, delete))] == [delete]
    deletion = replace(PATCH, method="DELETE", verb="delete", body=None)
    assert [each.rule for each in compared(every, WEB, None, deletion, about=(create, delete))] == [create]


def test_no_object_makes_a_rule_run_without_end() -> None:
    """A rule that walks a large object again and again ends after a number of steps, or without memory, and objects."""
    rules = engine(STEPS, MEMORY, "object.spec.replicas == 5")
    said = [each.message for each in compared(rules, WEB, changed(many=MANY, large="a" * 1_000_000))]
    assert len(said) == 2
    assert "too many steps" in said[0] and "too much memory" in said[1]
    assert [each.rule for each in compared(rules, WEB, changed(many=[1], large="a"))] == []
    rules.close()


def test_a_rule_that_is_slow_all_the_same_ends_with_the_call() -> None:
    """The host kills the masking process at the deadline, nothing is answered, and the next call works."""
    slow = "object.spec.many.all(a, object.spec.many.all(b, object.spec.large.replace('a', 'bb').size() > 0))"
    rules = engine(slow)
    rules.prepare()
    call = replace(PATCH, deadline=time.monotonic() + 1.0)
    with pytest.raises(errors.ClusterError):
        compared(rules, WEB, changed(many=MANY, large="a" * 1_000_000), call)
    assert [each.rule for each in compared(rules, WEB, changed(many=[1], large="a"))] == []
    rules.close()


@pytest.mark.parametrize("text", ["web\0", "\0"])
def test_a_text_with_a_nul_is_not_taken_for_its_beginning(text: str, every: redaction.Engine) -> None:
    """Such an object is refused by every rule, wherever the text stands."""
    about = other("a note")
    assert compared(every, WEB, changed(note="web"), about=about) == ()
    for after in (changed(note=text), changed(other=[{"deep": text}]), changed(**{text: 1})):
        objections = compared(every, WEB, after)
        assert len(objections) == len(HOLD) + len(FAIL) + len(OTHERS)
        assert all("NUL" in objection.message for objection in objections)
    assert compared(every, WEB, changed(note="\\u0000"), about=about)[0].message.endswith("must hold")


def test_numbers_that_no_machine_word_holds_are_refused(every: redaction.Engine) -> None:
    """They are not cut, and not taken for others."""
    about = other("some replicas")
    for number in (2**64, 10**40, -(2**63) - 1):
        after = changed(replicas=number)
        assert len(compared(every, WEB, after, about=about)) == 1
    assert compared(every, WEB, changed(replicas=2**63 - 1), about=about) == ()


@pytest.mark.parametrize("expression", WRONG)
def test_a_rule_that_does_not_compile_stops_the_start(expression: str) -> None:
    """The error names the rule and the place."""
    with pytest.raises(RuleError) as caught:
        expressions.Expressions([inspection.Expression("rule-0", "true"), inspection.Expression("rule-1", expression)])
    said = str(caught.value)
    assert "`rule-1`" in said and WRONG[expression] in said
    assert "write_policy.expressions" in said and "\n" not in said
    if expression == min(WRONG):  # one is enough for the way of the words out of the process that compiles
        with pytest.raises(errors.ConfigError) as told:
            engine("true", expression)
        assert told.value.message == said


def test_without_rules_the_library_is_not_loaded() -> None:
    """It takes 16 MiB."""
    script = (
        "import sys; from kubescript.inspection import expressions; from kubescript.wire import inspection;"
        "expressions.Expressions(()); print('cel_expr_python' in sys.modules);"
        "expressions.Expressions([inspection.Expression('a', 'true')]); print('cel_expr_python' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
