"""Operators' own rules in CEL, evaluated in a real masking process on what a write changes."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kubescript import config, errors, redaction
from kubescript.request import request
from kubescript.wire import masking, protocol

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


def engine(*texts: str, message: str = "") -> redaction.Engine:
    """A masking engine with these rules."""
    given = tuple(masking.Expression(f"rule-{at}", text, message) for at, text in enumerate(texts))
    return redaction.Engine(config.Redaction(), expressions=given)


PATCH = request.parse(
    protocol.Call(
        "PATCH",
        ("apis", "apps", "v1", "namespaces", "shop", "deployments", "web"),
        body=msgspec.Raw(b'{"spec":{"replicas":5}}'),
        content_type="merge-patch",
    )
)


def compared(
    rules: redaction.Engine, before: Any, after: Any, call: request.Request = PATCH
) -> tuple[masking.Objection, ...]:
    """The rules that do not hold for a change."""
    documents = [b"" if each is None else json.dumps(each).encode() for each in (before, after)]
    return rules.changes(call, documents[0], documents[1], lambda _: None).objections


def changed(**fields: Any) -> dict[str, Any]:
    """The object with five replicas, and other fields of its specification."""
    after = copy.deepcopy(WEB)
    after["spec"] |= {"replicas": 5, **fields}
    return after


def test_rules_are_evaluated_as_kubernetes_admission_does() -> None:
    """The names of a ValidatingAdmissionPolicy mean the same here."""
    assert compared(engine(*HOLD.values()), WEB, changed()) == ()


def test_a_rule_that_is_false_or_cannot_be_evaluated_objects_and_says_why() -> None:
    """What is not known to hold does not hold; the reason quotes nothing of the object."""
    rules = engine(*(expression for expression, _ in FAIL.values()))
    objections = compared(rules, WEB, changed())
    assert len(objections) == len(FAIL)
    for objection, (expression, why) in zip(objections, FAIL.values(), strict=True):
        beginning = f"`{expression}` must hold"
        assert objection.message.startswith(beginning)
        rest = objection.message.removeprefix(beginning)
        assert (rest == "") if not why else why in rest
        assert "web" not in rest
    assert compared(rules, WEB, changed()) == objections


def test_a_rule_s_own_message_is_what_is_said() -> None:
    """With the reason where it cannot be evaluated."""
    rules = engine("object.spec.replicas < 3", "object.spec.paused", message="ask ann first")
    said = [objection.message for objection in compared(rules, WEB, changed())]
    assert said == ["ask ann first", "ask ann first (a field or key in it is missing)"]


def test_creations_and_deletions_are_told_apart() -> None:
    """Where there is no object, it is null; an apply that makes its object is a creation."""
    create = "request.operation == 'CREATE' && oldObject == null && object.kind == 'Deployment'"
    delete = "request.operation == 'DELETE' && object == null && request.kind.kind == 'Deployment'"
    rules = engine(create, delete)
    assert [each.rule for each in compared(rules, None, WEB)] == ["rule-1"]
    deletion = replace(PATCH, method="DELETE", verb="delete", body=None)
    assert [each.rule for each in compared(rules, WEB, None, deletion)] == ["rule-0"]


def test_no_object_makes_a_rule_run_without_end() -> None:
    """A rule that walks a large object again and again ends after a number of steps, or without memory, and objects."""
    rules = engine(STEPS, MEMORY, "object.spec.replicas == 5")
    said = [each.message for each in compared(rules, WEB, changed(many=MANY, large="a" * 1_000_000))]
    assert len(said) == 2
    assert "too many steps" in said[0] and "too much memory" in said[1]
    assert compared(engine("object.spec.replicas == 5"), WEB, changed()) == ()


def test_a_rule_that_is_slow_all_the_same_ends_with_the_call() -> None:
    """The host kills the masking process at the deadline, nothing is answered, and the next call works."""
    slow = "object.spec.many.all(a, object.spec.many.all(b, object.spec.large.replace('a', 'bb').size() > 0))"
    rules = engine(slow)
    rules.prepare()
    call = replace(PATCH, deadline=time.monotonic() + 1.0)
    with pytest.raises(errors.ClusterError):
        compared(rules, WEB, changed(many=MANY, large="a" * 1_000_000), call)
    assert [each.rule for each in compared(rules, WEB, changed(many=[1], large="a"))] == []


@pytest.mark.parametrize("text", ["web\0", "\0"])
def test_a_text_with_a_nul_is_not_taken_for_its_beginning(text: str) -> None:
    """Such an object is refused by every rule, wherever the text stands."""
    rules = engine("!has(object.spec.note) || object.spec.note == 'web'")
    assert compared(rules, WEB, changed(note="web")) == ()
    for after in (changed(note=text), changed(other=[{"deep": text}]), changed(**{text: 1})):
        (objection,) = compared(rules, WEB, after)
        assert "NUL" in objection.message
    assert compared(rules, WEB, changed(note="\\u0000"))[0].message.endswith("must hold")


def test_numbers_that_no_machine_word_holds_are_refused() -> None:
    """They are not cut, and not taken for others."""
    rules = engine("object.spec.replicas > 0")
    for number in (2**64, 10**40, -(2**63) - 1):
        after = changed(replicas=number)
        assert len(compared(rules, WEB, after)) == 1
    assert compared(rules, WEB, changed(replicas=2**63 - 1)) == ()


@pytest.mark.parametrize("expression", WRONG)
def test_a_rule_that_does_not_compile_stops_the_start(expression: str) -> None:
    """The error names the rule and the place."""
    with pytest.raises(errors.ConfigError) as caught:
        engine("true", expression)
    assert "`rule-1`" in caught.value.message and WRONG[expression] in caught.value.message
    assert "write_policy.expressions" in caught.value.message and "\n" not in caught.value.message


def test_without_rules_the_library_is_not_loaded() -> None:
    """It takes 16 MiB."""
    script = (
        "import sys; from kubescript.masker import expressions; from kubescript.wire import masking;"
        "expressions.Expressions(()); print('cel_expr_python' in sys.modules);"
        "expressions.Expressions([masking.Expression('a', 'true')]); print('cel_expr_python' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
