"""The audit record beside a real kube-apiserver: its own audit log joins ours call by call, the role made from a record
allows exactly that, and recorded sessions run again without it."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import anyio
import pytest
import yaml

from kubescript_safety.controlplane import build
from tests.kit import audit_page, clients, patience, trails
from tests.kit.controlplane.server import ControlPlane

official: Any = importlib.import_module("kubernetes.client")
official_config: Any = importlib.import_module("kubernetes.config")
"""Untyped: it takes plain dictionaries, whatever its annotations say."""

POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}],
}

SESSION = (
    "[p.metadata.name for p in k8s.coreV1().list_namespaced_pod('shop')]",
    "k8s.coreV1().read_namespaced_config_map('settings', 'shop').data",
    "[k8s.coreV1().read_namespaced_config_map(name, 'shop').data for name in ('settings', 'more')]",
    (
        "k8s.authorizationV1().create_self_subject_access_review({'spec': {'resourceAttributes': {'verb': 'list', "
        "'resource': 'pods', 'namespace': 'shop'}}}).status.allowed"
    ),
    "len(k8s.get('/apis')['groups']) > 5 if hasattr(k8s, 'get') else 0",
    "k8s.coreV1().read_namespaced_service_account('reader', 'shop').metadata.name",
    "sorted(n.metadata.name for n in k8s.coreV1().list_namespace())",
    "len(k8s.appsV1().list_deployment_for_all_namespaces()), len(k8s.appsV1().list_namespaced_deployment('shop'))",
    "k8s.appsV1().read_namespaced_deployment_scale('web', 'shop').spec.replicas",
    "[d.metadata.name for d in k8s.appsV1().list_namespaced_deployment('shop', field_selector='metadata.name=web')]",
    "k8s.coreV1().read_namespace('shop').metadata.name",
    "[p.metadata.name for p in k8s.coreV1().list_namespaced_pod('other', label_selector='app=web')]",
    "try:\n    k8s.batchV1().read_namespaced_job('none', 'shop')\nexcept Exception as error:\n    why = error.status\nwhy",
    "k8s.versionApi().get_code().major if hasattr(k8s, 'versionApi') else k8s.get('/version')['major']",
)
"""What is asked; each answer depends on each call in it."""


def in_one(scripts: tuple[str, ...]) -> str:
    """One script that gives the answers of all of these, an error's type for one that fails."""
    parts = ["answers = []"]
    for script in scripts:
        *lines, last = script.split("\n")
        parts += ["try:", *(f"    {line}" for line in lines), f"    answers.append(repr(({last})))"]
        parts += ["except Exception as error:", "    answers.append(str(type(error)))"]
    return "\n".join([*parts, "answers"])


WHOLE_SESSION = in_one(SESSION)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def plane(folder: Path) -> Iterator[ControlPlane]:
    """A kube-apiserver with an audit policy, and without the rights that Kubernetes gives everybody."""
    build.programs()
    (folder / "policy.yaml").write_text(yaml.safe_dump(POLICY))
    flags = (f"--audit-policy-file={folder / 'policy.yaml'}", f"--audit-log-path={folder / 'kube.jsonl'}")
    with ControlPlane(flags) as plane:
        api = admin(plane)
        for name in ("system:discovery", "system:basic-user", "system:public-info-viewer"):
            official.RbacAuthorizationV1Api(api).delete_cluster_role_binding(name)
        load(api)
        yield plane


def admin(plane: ControlPlane) -> Any:
    configuration = official.Configuration()
    official_config.load_kube_config(str(plane.kubeconfig), client_configuration=configuration)
    return official.ApiClient(configuration)


def load(api: Any) -> None:
    """Two namespaces with a little of everything the session asks for."""
    core = official.CoreV1Api(api)
    for name in ("shop", "other"):
        core.create_namespace({"metadata": {"name": name}})
        pod = {
            "metadata": {"name": "web-0", "labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        }
        core.create_namespaced_pod(name, pod)
    core.create_namespaced_service_account("shop", {"metadata": {"name": "reader"}})
    for name in ("settings", "more"):
        core.create_namespaced_config_map("shop", {"metadata": {"name": name}, "data": {"colour": name}})
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    official.AppsV1Api(api).create_namespaced_deployment("shop", {"metadata": {"name": "web"}, "spec": spec})


def ask(kubeconfig: Path, *flags: str, scripts: tuple[str, ...] = SESSION) -> list[str]:
    """The session's answers, asked over MCP."""

    async def talk() -> list[str]:
        async with clients.connect("memory", ["--kubeconfig", str(kubeconfig), *flags]) as client:
            return [clients.text(await clients.evaluate(client, script)) for script in scripts]

    return anyio.run(talk)


@pytest.fixture(scope="module")
def session(plane: ControlPlane, folder: Path) -> tuple[Path, list[str]]:
    """The session on record, and its answers."""
    file = folder / "audit.jsonl"
    (folder / "kubescript.toml").write_text(f'[audit]\nfile = "{file}"\nresponses = true\n')
    answers = ask(plane.kubeconfig, "--config", str(folder / "kubescript.toml"))
    assert not [answer for answer in answers if "Error" in answer or "403" in answer], answers
    trails.verified(file)
    return file, answers


def test_both_logs_join_one_to_one(plane: ControlPlane, session: tuple[Path, list[str]], folder: Path) -> None:
    """Each of our calls is one event of kube-apiserver's with the same id, and says the same of it; none is left over."""
    ask(plane.kubeconfig, "--audit", str(session[0]), scripts=(trails.DENIED,))
    ours = {one["audit_id"]: one for one in trails.records(session[0], "call")}
    refused = [one for one in ours.values() if one["decision"] == "deny"]
    assert len(refused) == 1
    events = [json.loads(line) for line in (folder / "kube.jsonl").read_text().splitlines()]
    theirs = [one for one in events if one.get("userAgent", "").startswith("kubescript/")]
    assert len(theirs) == len(ours) - 1
    for event in theirs:
        one = ours[event["auditID"]]
        said = (event["verb"], event["responseStatus"]["code"], event.get("objectRef", {}))
        assert said[:2] == (one["verb"], one["status"])
        for key, mine in (("resource", "resource"), ("namespace", "namespace"), ("name", "name"), ("apiGroup", "group"),
                          ("subresource", "subresource"), ("apiVersion", "version")):  # fmt: skip
            assert said[2].get(key, "") == one[mine], (event, one)
        assert f"evaluation={one['evaluation']}; script={one['script'][:16]}" in event["userAgent"]


def test_what_a_snapshot_reads_is_on_record_too(plane: ControlPlane, folder: Path, tmp_path: Path) -> None:
    """`kubescript snapshot` is no script, and each of its calls is on record and in kube-apiserver's log all the same."""
    file = tmp_path / "audit.jsonl"
    done = trails.run("snapshot", str(tmp_path / "out"), "--kubeconfig", str(plane.kubeconfig), "--audit", str(file))
    assert done.returncode == 0, done.stderr
    trails.verified(file)
    ours = {one["audit_id"] for one in trails.records(file, "call") if one["decision"] == "allow"}
    theirs = [json.loads(line)["auditID"] for line in (folder / "kube.jsonl").read_text().splitlines()]
    assert len(ours) > 20 and ours <= set(theirs)
    assert {one["client"] for one in trails.records(file, "call")} == {"kubescript snapshot"}


def test_the_page_s_program_joins_them(session: tuple[Path, list[str]], folder: Path) -> None:
    """The join of docs/audit.md finds the event of each call that was sent."""
    done = audit_page.run(audit_page.JOIN, session[0], folder / "kube.jsonl")
    lines = done.stdout.splitlines()
    assert len(lines) == len(trails.records(session[0], "call")), done.stderr
    for line in lines:
        ours, theirs = line.split(" | ")
        _, _, decision, verb, *_ = ours.split()
        assert theirs.split()[:2] == (["admin", verb] if decision == "allow" else ["None", "None"])


def test_recorded_scripts_give_the_same_bytes_without_a_cluster(
    session: tuple[Path, list[str]], tmp_path: Path
) -> None:
    """Every script of the session, run again from the record and from a copy of it elsewhere, answers as it did."""
    done = trails.run("audit", "replay", str(session[0]))
    assert done.stdout.count(" same") == len(SESSION), done.stdout + done.stderr
    assert "differs" not in done.stdout
    out = tmp_path / "elsewhere"
    assert trails.run("audit", "replay", str(session[0]), "--snapshot", str(out)).returncode == 0
    done = trails.run("audit", "replay", str(out / "audit.jsonl"))
    assert done.stdout.count(" same") == len(SESSION), done.stdout + done.stderr
    body = next(one for one in (out / "audit.jsonl.d" / "bodies").iterdir() if b"web-0" in one.read_bytes())
    body.write_bytes(body.read_bytes().replace(b"web-0", b"web-1"))
    done = trails.run("audit", "replay", str(out / "audit.jsonl"))
    assert done.returncode == 1
    assert "is not what was recorded" in done.stdout
    assert done.stdout.count(" same") < len(SESSION)


UNORDERED = (
    "k8s.parallel([lambda n=n: len(k8s.coreV1().list_namespaced_pod(n)) for n in ('shop', 'other', 'shop', 'none')])",
    (
        "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor() as pool:\n    found = list(pool.map("
        "lambda n: k8s.coreV1().read_namespaced_config_map(n, 'shop').data, ['settings', 'more'] * 6))\nfound"
    ),
    (
        "one = k8s.coreV1().list_namespaced_pod('shop', async_req=True)\nother = k8s.coreV1().list_namespace(async_req=True)\n"
        "len(one.get()), len(other.get())"
    ),
    (
        "from kubernetes import watch\n[(e['type'], e['object'].metadata.name) for e in "
        "watch.Watch().stream(k8s.coreV1().list_namespaced_config_map, 'shop', timeout_seconds=1)]"
    ),
    (
        "from kubernetes import watch\nfor event in watch.Watch().stream(k8s.coreV1().list_namespaced_config_map, 'shop'):\n"
        "    break\nevent['type'], len(k8s.coreV1().list_namespaced_pod('shop'))"
    ),
    f"try:\n    {trails.DENIED}\nexcept Exception as error:\n    print(error)\nlen(k8s.coreV1().list_namespace())",
    trails.DENIED,
    "[len(k8s.coreV1().list_namespaced_config_map('shop', limit=1)), next(iter(k8s.coreV1().list_namespace())).metadata.name]",
)
"""Calls side by side, equal ones, streams that end or are left, denials swallowed and not, lists left half-way."""


def test_what_came_in_any_order_is_given_again(plane: ControlPlane, tmp_path: Path) -> None:
    """Parallel calls, watches, denied calls and lists that were left answer as they did, from the record alone; chance and
    the clock differ, and the line says why."""
    file = tmp_path / "audit.jsonl"
    scripts = (*UNORDERED, "import random\nrandom.random()", "import datetime\nstr(datetime.datetime.now())")
    answers = ask(plane.kubeconfig, "--audit", str(file), "--audit-keep", "responses", scripts=scripts)
    assert [len(answers), answers[0], answers[5][:4]] == [len(scripts), "[1,1,1,0]\n[no such namespace: none]", "403 "]
    done = trails.run("audit", "replay", str(file))
    told = [line.split()[1] for line in done.stdout.splitlines()]
    assert told == ["same"] * len(UNORDERED) + ["differs"] * 2, done.stdout + done.stderr
    assert done.stdout.count("the clock or random numbers") == 2


def test_the_role_allows_exactly_what_was_done(
    plane: ControlPlane, session: tuple[Path, list[str]], folder: Path
) -> None:
    """An account with just the roles made from the record gives the same answers; without any one verb, resource or name of
    any rule it does not."""
    file, answers = session
    done = trails.run("audit", "role", str(file))
    roles = [one for one in yaml.safe_load_all(done.stdout) if one]
    api = admin(plane)
    kubeconfig = account(plane, api, folder)
    apply(api, done.stdout)
    patience.until(lambda: ask(kubeconfig) == answers, 200)
    tried = 0
    rbac = official.RbacAuthorizationV1Api(api)

    async def attack() -> int:
        nonlocal tried
        async with clients.connect("memory", ["--kubeconfig", str(kubeconfig)]) as client:
            allowed = clients.text(await clients.evaluate(client, WHOLE_SESSION))
            for role in roles:
                for lesser in weakened(role):
                    replace(rbac, lesser)
                    assert await settles(client, allowed, same=False), lesser
                    replace(rbac, role)
                    assert await settles(client, allowed, same=True), role
                    tried += 1
        return tried

    assert anyio.run(attack) >= 14


def weakened(role: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The role without one rule, and without one verb, resource, name or path of one."""
    for number, rule in enumerate(role["rules"]):
        lesser = deepcopy(role)
        del lesser["rules"][number]
        yield lesser
        for key in ("verbs", "resources", "resourceNames", "nonResourceURLs"):
            for value in rule.get(key, []) if len(rule.get(key, [])) > 1 else []:
                lesser = deepcopy(role)
                lesser["rules"][number][key].remove(value)
                yield lesser


async def settles(client: Any, answers: str, *, same: bool) -> bool:
    """Whether the answers become what they should be; RBAC takes effect within moments of a change."""
    for _ in range(1500):
        now = clients.text(await clients.evaluate(client, WHOLE_SESSION))
        if (now == answers) is same:
            return True
        await anyio.sleep(0.02)
    return False


def replace(rbac: Any, role: dict[str, Any]) -> None:
    metadata = role["metadata"]
    if role["kind"] == "Role":
        rbac.replace_namespaced_role(metadata["name"], metadata["namespace"], role)
    else:
        rbac.replace_cluster_role(metadata["name"], role)


def account(plane: ControlPlane, api: Any, folder: Path) -> Path:
    """A service account without any right, and a kubeconfig with its token."""
    core = official.CoreV1Api(api)
    core.create_namespaced_service_account("default", {"metadata": {"name": "kubescript"}})
    token = core.create_namespaced_service_account_token("kubescript", "default", {"spec": {"expirationSeconds": 3600}})
    content = yaml.safe_load(plane.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": token.status.token}
    path = folder / "account.kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


def apply(api: Any, text: str) -> None:
    """The roles, and the bindings that stand beneath them as comments."""
    rbac = official.RbacAuthorizationV1Api(api)
    makers = {
        "Role": lambda one: rbac.create_namespaced_role(one["metadata"]["namespace"], one),
        "RoleBinding": lambda one: rbac.create_namespaced_role_binding(one["metadata"]["namespace"], one),
        "ClusterRole": rbac.create_cluster_role,
        "ClusterRoleBinding": rbac.create_cluster_role_binding,
    }
    for one in yaml.safe_load_all(text.replace("\n# ", "\n")):
        makers[one["kind"]](one)
