"""`kubescript policy test`: what the policy decides about requests that somebody wrote down, or that were recorded."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from kubescript import config
from kubescript.changes.rules import table, write_settings
from tests.kit import paths, trails

PAGE = (paths.ROOT / "docs" / "write.md").read_text("utf-8")
SETTINGS = """
writes = "plan"
[write_policy]
namespaces = ["shop"]
targets = "track!=canary"
registries = ["registry.example.com/team"]
[[write_policy.expressions]]
id = "few"
expression = "object.spec.replicas <= 5"
message = "five replicas are enough"
resources = ["deployments.apps"]
[[write_policy.expressions]]
id = "owner"
expression = "'owner' in object.metadata.labels"
message = "nobody owns it"
action = "warn"
"""
CASES = """
- request: {method: GET, path: /api/v1/namespaces/shop/pods, query: {labelSelector: app=web}}
  expect: allow
- request: {method: PATCH, path: /apis/apps/v1/namespaces/shop/deployments/web, body: {spec: {replicas: 3}}}
  before: &web
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: shop, labels: {track: stable}, creationTimestamp: 2026-01-31T12:00:00Z}
    spec: {replicas: 2}
  after: &three
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web, namespace: shop, labels: {track: stable}, creationTimestamp: 2026-01-31T12:00:00Z}
    spec: {replicas: 3}
  expect: plan
  rule: writes.expressions.owner
- request: {method: PUT, path: /apis/apps/v1/namespaces/shop/deployments/web, body: {spec: {replicas: 7}, metadata: {}}}
  before: *web
  expect: deny
  rule: writes.expressions.few
- request: {method: DELETE, path: "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb"}
  expect: deny
  rule: writes.collections
- request: {method: DELETE, path: /apis/apps/v1/namespaces/shop/deployments/web}
  before: *web
  expect: plan
- request: {method: DELETE, path: /apis/apps/v1/namespaces/shop/deployments/web-canary}
  before: {metadata: {name: web-canary, labels: {track: canary}}}
  expect: deny
  rule: writes.targets
- request: {method: POST, path: /api/v1/namespaces/shop/pods, body: {metadata: {name: a}, spec: {containers: [{image: nginx}]}}}
  expect: deny
  rule: writes.registries
- request: {method: POST, path: /api/v1/namespaces/shop/pods/web-0/eviction, body: {metadata: {name: web-0}}}
  before: {metadata: {name: web-0}}
  expect: plan
- request: {method: GET, path: /api/v1/namespaces/shop/secrets/db/x/y}
  expect: deny
  rule: request.path
- request: {method: PATCH, path: /api/v1/nodes/a, content_type: application/merge-patch+json, body: {}}
  rule: writes.scope
"""


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    file = tmp_path / "kubescript.toml"
    file.write_text(SETTINGS)
    return file


def judged(folder: Path, text: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """The command, run on a file with this text."""
    file = folder / "file.yaml"
    file.write_text(text)
    return trails.run("policy", "test", str(file), *flags)


def test_each_case_is_judged_and_its_rule_is_named(settings: Path, tmp_path: Path) -> None:
    """A line for each case says the verdict, the request, the rule and the reason."""
    done = judged(tmp_path, CASES, "--config", str(settings))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert "allow    list pods in namespace shop" in lines
    assert "plan     patch deployments.apps web in namespace shop" in lines
    assert "         warning writes.expressions.owner tells the approver: nobody owns it" in lines
    assert any(
        line.startswith("deny     update deployments.apps web in namespace shop: writes.expressions.few: five replicas")
        for line in lines
    )
    assert lines[-1] == "10 cases, 0 failed"


@pytest.mark.parametrize("expected", ["expect: plan", "rule: writes.scope", "{expect: deny, rule: writes.scope}"])
def test_an_expectation_that_fails_is_told_and_ends_with_code_1(settings: Path, tmp_path: Path, expected: str) -> None:
    """Verdict and rule are both expectations."""
    pairs = expected.strip("{}").split(", ")
    text = "- request: {method: DELETE, path: /api/v1/namespaces/shop/pods}\n  " + "\n  ".join(pairs)
    done = judged(tmp_path, text, "--config", str(settings))
    assert done.returncode == 1
    assert "FAILED: expected" in done.stdout and done.stdout.endswith("1 cases, 1 failed\n")


def test_a_case_without_its_object_says_what_was_not_judged(settings: Path, tmp_path: Path) -> None:
    """A verdict on the request alone does not pass for one on its changes."""
    text = "- request: {method: PATCH, path: /api/v1/namespaces/shop/configmaps/a, body: {data: {a: b}}}\n"
    done = judged(tmp_path, text, "--config", str(settings))
    assert done.returncode == 0
    assert "no `before`: what it would change was not judged" in done.stdout
    assert "no `after`" in judged(tmp_path, text + "  before: {metadata: {}}\n", "--config", str(settings)).stdout


LEVELS = """
- request: {method: POST, path: /apis/rbac.authorization.k8s.io/v1/namespaces/shop/rolebindings, body: {metadata: {name: a},
    roleRef: {kind: Role, name: reader}, subjects: [{kind: User, name: jane}]}}
  expect: EXPECTED
  rule: writes.roles
- request: {method: POST, path: /apis/rbac.authorization.k8s.io/v1/namespaces/shop/roles, body: {metadata: {name: a},
    rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]}}
  expect: deny
"""


def test_the_level_of_a_finding_is_told_where_a_person_reads_it(tmp_path: Path) -> None:
    """And the rules of a Role that only the cluster has are not judged. Elsewhere the same rule refuses."""
    file = tmp_path / "k.toml"
    file.write_text('writes = "plan"')
    done = judged(tmp_path, LEVELS.replace("EXPECTED", "plan"), "--config", str(file))
    assert done.returncode == 0 and "         critical writes.roles tells the approver: changes the" in done.stdout
    assert "the Role that it binds is not read here" in done.stdout and "writes.escalation" in done.stdout
    file.write_text('writes = "plan"\napproval = "argument"\nwrite_policy.levels = { "writes.roles" = "warn" }')
    assert judged(tmp_path, LEVELS.replace("EXPECTED", "deny"), "--config", str(file)).returncode == 0


def test_a_server_that_only_reads_refuses_every_write(tmp_path: Path) -> None:
    """The mode is part of the policy."""
    text = "- request: {method: DELETE, path: /api/v1/namespaces/shop/pods/web-0}\n  expect: deny\n  rule: policy.read_only\n"
    assert judged(tmp_path, text).returncode == 0
    assert judged(tmp_path, text, "--no-read-only").returncode == 1


def test_each_context_has_its_own_rules(tmp_path: Path) -> None:
    """A case may name the cluster that it is for."""
    file = tmp_path / "k.toml"
    file.write_text('writes = "plan"\n[contexts.test]\n[contexts.prod.write_policy]\nnamespaces = ["web"]\n')
    request = "request: {method: DELETE, path: /api/v1/namespaces/shop/pods/web-0}"
    text = f"- {request}\n  expect: plan\n- {request}\n  context: prod\n  expect: deny\n  rule: writes.scope\n"
    done = judged(tmp_path, text, "--config", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "prod" in judged(tmp_path, f"- {request}\n  context: prot\n", "--config", str(file)).stderr


def test_recorded_calls_are_judged_by_another_policy(settings: Path, tmp_path: Path) -> None:
    """An audit file tells what a stricter policy would have refused."""
    audit = tmp_path / "audit.jsonl"
    done = trails.run(
        "run", "-c", "len(k8s.coreV1().list_namespaced_pod('shop'))\n" + trails.DENIED.join(("try:\n    ", "\nexcept Exception: 1")),
        "--snapshot", str(trails.snapshot(tmp_path)), "--audit", str(audit),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    written = {"verb": "delete", "group": "", "version": "v1", "resource": "pods", "subresource": "", "name": "web-0"}
    with audit.open("a") as file:
        for number in range(3):
            record = {"type": "call", "time": "2026-01-31T12:00:00Z", "audit_id": f"id-{number}", "namespace": "prod"}
            file.write(json.dumps(record | written) + "\n")
    done = trails.run("policy", "test", str(audit), "--config", str(settings))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "deny     delete pods web-0 in namespace prod (3 times): writes.scope: only namespaces shop" in done.stdout
    assert "create serviceaccounts/token db in namespace shop: policy.denied_resource" in done.stdout
    assert "list pods" not in done.stdout and "1 allow, 4 deny" in done.stdout
    assert "what the requests would change was not judged" in done.stdout


WRONG = {
    "no list": ("request: 1", "list of cases"),
    "an unknown key": ("- {request: {method: GET, path: /version}, expects: deny}", "expects"),
    "an unknown method": ("- {request: {method: LOOK, path: /version}}", "LOOK"),
    "an unknown verdict": ("- {request: {method: GET, path: /version}, expect: maybe}", "maybe"),
    "no YAML": ("- {", "not YAML"),
    "a wrong body": ("- {request: {method: GET, path: /version}, before: 1}", "before"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_file_that_holds_no_cases_is_an_error_that_says_what_is_wrong(case: str, tmp_path: Path) -> None:
    """Never a stack trace, and never a success."""
    text, expected = WRONG[case]
    done = judged(tmp_path, text)
    assert done.returncode == 1 and expected in done.stderr and "Traceback" not in done.stderr


def test_settings_that_are_wrong_are_told_as_the_server_tells_them(tmp_path: Path) -> None:
    """An expression that does not compile names itself."""
    file = tmp_path / "k.toml"
    file.write_text('writes = "plan"\n[[write_policy.expressions]]\nid = "few"\nexpression = "objekt.a"\n')
    done = judged(tmp_path, "[]", "--config", str(file))
    assert done.returncode == 1 and "`few`" in done.stderr and "objekt" in done.stderr
    served = trails.run("--toolsets", "code", "--config", str(file))
    assert served.returncode == 1 and "`few`" in served.stderr


def test_the_page_names_every_setting_and_every_rule(tmp_path: Path) -> None:
    """Its example is valid, its cases end as it says, and no rule that has a level is left out."""
    team, plans, example = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (cases,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    named = tomllib.loads(plans)["plans"] | tomllib.loads(team)["plans"]
    assert set(named) == set(config.Plans.model_fields)
    given = tomllib.loads(example)["write_policy"]
    assert set(given) == set(config.WritePolicy.model_fields)
    assert set(given["expressions"][0]) == set(config.Expression.model_fields)
    write_settings.read(config.WritePolicy.model_validate(given))
    levels = dict(re.findall(r"(?m)^\| `(writes\.[a-z_.]+)` \| .* \| (refuse|critical|warn) \|$", PAGE))
    assert levels == {rule.id: rule.level for rule in table.RULES}
    file = tmp_path / "page.toml"
    file.write_text(example)
    done = judged(tmp_path, cases, "--config", str(file))
    assert done.returncode == 0 and "2 cases, 0 failed" in done.stdout, done.stdout + done.stderr
