"""The toolset `helm` beside the real Helm, over releases that the real Helm has made."""

from __future__ import annotations

import json
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types
import pytest
import yaml

from kubescript.cli import demo
from tests.kit import clients, helm, tools
from tests.kit.controlplane.server import ControlPlane
from tests.kit.helm import releases
from tests.kit.helm.releases import NAMESPACE, OTHER

DEMO = Path(demo.__file__).with_name("demo.tar.gz")
MASK = re.compile("«redacted:[a-z-]+:[0-9a-f]+»")
FIELDS = ("name", "namespace", "revision", "updated", "status", "chart", "app_version")
Typed = Callable[..., Any]


@pytest.fixture(scope="module")
def cluster(scratch: ControlPlane, helm_program: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster with releases, which no other test has."""
    releases.install(scratch.kubeconfig, tmp_path_factory.mktemp("helm"))
    return scratch.kubeconfig


@pytest.fixture(scope="module")
def call(cluster: Path) -> Iterator[tools.Call]:
    with tools.calling("--kubeconfig", str(cluster), toolsets="helm,code") as made:
        yield made


@pytest.fixture(scope="module")
def typed(cluster: Path, tmp_path_factory: pytest.TempPathFactory) -> Typed:
    """What the real Helm answers in JSON."""
    home = tmp_path_factory.mktemp("home")

    def run(*words: str, driver: str = "secret") -> Any:
        return json.loads(helm.run(cluster, home, *words, "-o", "json", driver=driver))

    return run


def rows(result: Any) -> list[dict[str, str]]:
    """The rows of helm_list by their titles; no cell of these releases has a blank in it."""
    titles, *lines = (line for line in tools.text(result).splitlines() if not line.startswith(("[warning:", "(")))
    assert titles.split("  ")[0] == "NAME"
    starts = [match.start() for match in re.finditer(r"(?:(?<=  )|^)\S", titles)]
    cells = [
        [line[start:end].strip() for start, end in zip(starts, [*starts[1:], None], strict=True)] for line in lines
    ]
    return [dict(zip(FIELDS, row, strict=True)) for row in cells]


def to_the_second(time: str) -> str:
    """A time as Helm prints it, as the tools print it."""
    return re.sub(r"(\d) (\d\d:\d\d:\d\d)(?:\.\d+)? \+0000 UTC", r"\1T\2Z", re.sub(r"\.\d+Z", "Z", time))


def typed_list(typed: Typed, *words: str) -> list[dict[str, str]]:
    """What Helm lists of Secrets and of ConfigMaps."""
    found = [each for driver in ("secret", "configmap") for each in typed("list", *words, driver=driver)]
    return [each | {"updated": to_the_second(each["updated"])} for each in found]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ("-A",)),
        ({"status": "all"}, ("-A", "-a")),
        ({"status": "deployed"}, ("-A", "--deployed")),
        ({"status": "failed"}, ("-A", "--failed")),
        ({"status": "uninstalled"}, ("-A", "--uninstalled")),
        ({"status": "superseded"}, ("-A", "--superseded")),
        ({"status": "pending"}, ("-A", "--pending")),
        ({"status": "all", "namespace": NAMESPACE}, ("-n", NAMESPACE, "-a")),
        ({"filter": "^(web|api)$"}, ("-A", "--filter", "^(web|api)$")),
        ({"filter": "a"}, ("-A", "--filter", "a")),
    ],
)
def test_a_list_has_what_helm_lists(
    call: tools.Call, typed: Typed, arguments: dict[str, Any], words: tuple[str, ...]
) -> None:
    """Field by field; releases in ConfigMaps are listed too."""
    expected = sorted(typed_list(typed, *words), key=operator.itemgetter("name", "namespace", "revision"))
    assert expected
    assert (
        sorted(rows(call("helm_list", **arguments)), key=operator.itemgetter("name", "namespace", "revision"))
        == expected
    )


def test_a_list_is_in_helms_order(call: tools.Call, typed: Typed) -> None:
    """By name or by time, forwards and backwards, and cut with a line that says so."""
    names = [each["name"] for each in typed("list", "-A", "-a", "-n", OTHER)]
    for reverse in (False, True):
        words = ("--reverse",) if reverse else ()
        by_name = rows(call("helm_list", status="all", date=False, reverse=reverse))
        assert [each["name"] for each in by_name if each["name"] in names] == [
            each["name"] for each in typed("list", "-A", "-a", *words) if each["name"] in names
        ]
        times = [each["updated"] for each in rows(call("helm_list", status="all", reverse=reverse))]
        assert times == sorted(times, reverse=reverse)
    cut = tools.text(call("helm_list", status="all", short=True, date=False, max=2))
    assert cut == "api\nbroken\n(4 more: raise max, or narrow with namespace, status or filter)"


def test_nothing_to_list_says_how_to_see_more(call: tools.Call) -> None:
    """An empty answer is a sentence."""
    said = tools.text(call("helm_list", namespace="default"))
    assert said == "no releases in namespace default that are deployed or failed"


def test_releases_that_a_list_leaves_out_are_counted(call: tools.Call, typed: Typed) -> None:
    """By their states, as Helm has them; a list of one chosen status has no such line."""
    listed = {each["name"] for each in typed_list(typed, "-A")}
    others = [each["status"] for each in typed_list(typed, "-A", "-a") if each["name"] not in listed]
    states = ", ".join(f"{state} {count}" for state, count in sorted(Counter(others).items()))
    assert "pending-" in states, states
    told = f"({len(others)} releases in other states: {states}; status='all' lists all)"
    assert tools.text(call("helm_list")).splitlines()[-1] == told
    assert "other states" not in tools.text(call("helm_list", status="deployed"))
    nothing = tools.text(call("helm_list", filter="^gone$"))
    assert nothing == (
        "no releases that are deployed or failed\n(1 release in other states: uninstalled 1; status='all' lists all)"
    )


@pytest.mark.parametrize("name", ["web", "broken", "gone"])
def test_a_history_is_helms(call: tools.Call, typed: Typed, name: str) -> None:
    """In each form; every revision, the oldest first."""
    expected = [each | {"updated": to_the_second(each["updated"])} for each in typed("history", name, "-n", NAMESPACE)]
    as_json = call("helm_history", releaseName=name, namespace=NAMESPACE, output="json")
    assert json.loads(tools.text(as_json)) == expected
    as_yaml = call("helm_history", releaseName=name, namespace=NAMESPACE, output="yaml")
    assert yaml.safe_load(tools.text(as_yaml)) == expected
    table = tools.text(call("helm_history", releaseName=name, namespace=NAMESPACE)).splitlines()
    assert len(table) == len(expected) + 1
    for each, line in zip(expected, table[1:], strict=True):
        assert " ".join(each["description"].split())[:60] in " ".join(line.split())


def test_a_history_is_cut_to_the_last(call: tools.Call, typed: Typed) -> None:
    """As `--max` does."""
    last = tools.text(call("helm_history", releaseName="web", namespace=NAMESPACE, max=2, output="json"))
    expected = typed("history", "web", "-n", NAMESPACE, "--max", "2")
    assert [each["revision"] for each in json.loads(last)] == [each["revision"] for each in expected] == [3, 4]


def without_masks(text: str) -> str:
    """A text with the test's own passwords back in their places."""
    return MASK.sub(releases.PASSWORD, text)


@pytest.mark.parametrize("revision", [0, 1, 2, 3])
@pytest.mark.parametrize("all_values", [False, True])
def test_values_are_helms(
    call: tools.Call, typed: Typed, cluster: Path, tmp_path: Path, revision: int, all_values: bool
) -> None:
    """Of each revision, as given and as rendered, in each form; passwords are masked."""
    words = ["get", "values", "web", "-n", NAMESPACE, *(["--revision", str(revision)] if revision else [])]
    words += ["--all"] if all_values else []
    given = {"releaseName": "web", "namespace": NAMESPACE, "allValues": all_values} | (
        {"revision": revision} if revision else {}
    )
    expected = typed(*words)
    if "auth" in (expected or {}):
        expected["auth"]["password"] = releases.PASSWORD
    as_json = without_masks(tools.text(call("helm_get_values", output="json", **given)))
    assert json.loads(as_json) == expected
    shown = helm.run(cluster, tmp_path, *words, "-o", "yaml").strip()
    assert_same_yaml(without_masks(tools.text(call("helm_get_values", **given))), shown)
    table = helm.run(cluster, tmp_path, *words).strip()
    assert_same_yaml(without_masks(tools.text(call("helm_get_values", output="table", **given))), table)


def assert_same_yaml(found: str, expected: str) -> None:
    """Line by line; a mask stands in quotes."""
    expected = expected.replace("changeme", releases.PASSWORD).replace(releases.PASSWORD, f'"{releases.PASSWORD}"')
    assert found.rstrip("\n") == expected


def test_a_status_is_helms(call: tools.Call, typed: Typed) -> None:
    """Each field of the state, and what the notes say but for a password in them."""
    expected = typed("status", "web", "-n", NAMESPACE)
    lines = tools.text(call("helm_status", releaseName="web", namespace=NAMESPACE)).splitlines()
    info = expected["info"]
    assert lines[:8] == [
        "NAME: web",
        f"LAST DEPLOYED: {to_the_second(info['last_deployed'])}",
        f"NAMESPACE: {NAMESPACE}",
        "STATUS: deployed",
        "REVISION: 4",
        "CHART: web-1.2.3",
        "APP VERSION: 4.5.6",
        f"DESCRIPTION: {info['description']}",
    ]
    assert MASK.sub(releases.NOTE_PASSWORD, "\n".join(lines[8:])) == f"NOTES:\n{info['notes'].strip()}"
    assert releases.NOTE_PASSWORD not in "\n".join(lines)


def test_a_status_of_a_revision_and_of_what_is_gone(call: tools.Call) -> None:
    """A revision by its number, and a release that was uninstalled."""
    first = tools.text(call("helm_status", releaseName="web", namespace=NAMESPACE, revision=2))
    assert "REVISION: 2" in first and "DESCRIPTION: More of everything" in first and "STATUS: superseded" in first
    gone = tools.text(call("helm_status", releaseName="gone", namespace=NAMESPACE))
    assert "STATUS: uninstalled" in gone and "DELETED: 2" in gone


def test_a_status_shows_objects_and_hooks(call: tools.Call, cluster: Path, tmp_path: Path) -> None:
    """Objects as the API server prints them, a Secret by its metadata; hooks by name."""
    found = tools.text(call("helm_status", releaseName="web", namespace=NAMESPACE, showResources=True, showHooks=True))
    printed = helm.run(cluster, tmp_path, "status", "web", "-n", NAMESPACE, "--show-resources")
    for title in ("NAME   READY   UP-TO-DATE   AVAILABLE   AGE", "NAME      DATA   AGE"):
        assert title in printed
        assert re.search(title.replace("   ", " +"), found), found
    assert re.search(r"==> v1/Secret\nNAME +AGE\nweb-auth ", found)
    assert re.search(r"HOOKS:\nKIND .*\nConfigMap  web-hook  pre-install,pre-upgrade  5 +Succeeded 2", found)


def test_what_is_not_there(call: tools.Call) -> None:
    """Each sentence says what to do; nothing is guessed."""
    missing = call("helm_status", releaseName="nope", namespace=NAMESPACE)
    assert f"release nope not found in namespace {NAMESPACE}; helm_list" in clients.whole(missing)
    revision = call("helm_get_values", releaseName="web", namespace=NAMESPACE, revision=9)
    assert "release web has no revision 9; there is: 1, 2, 3, 4" in clients.whole(revision)
    pattern = call("helm_list", filter="((")
    assert "filter is no regular expression" in clients.whole(pattern)
    assert missing.is_error and revision.is_error and pattern.is_error


def test_scripts_read_releases_as_data(call: tools.Call, typed: Typed) -> None:
    """`k8s.helm` has what the tools say, as data."""
    listed = call("evaluate_script", script="k8s.helm.releases(status='failed')")
    assert json.loads(tools.text(listed).splitlines()[0]) == typed_list(typed, "-A", "--failed")
    values = call("evaluate_script", script=f"k8s.helm.values('web', '{NAMESPACE}', revision=3)")
    assert json.loads(tools.text(values)) == typed("get", "values", "web", "-n", NAMESPACE, "--revision", "3")
    objects = f"[o['kind'] for o in k8s.helm.status('web', '{NAMESPACE}')['resources']]"
    assert json.loads(tools.text(call("evaluate_script", script=objects)).splitlines()[0]) == [
        "Secret",
        "ConfigMap",
        "Deployment",
    ]


def test_a_saved_cluster_has_releases(cluster: Path, typed: Typed, tmp_path: Path) -> None:
    """Manifests that kubectl has saved hold whole releases; a snapshot of ours has their names and states."""
    saved = tmp_path / "saved"
    saved.mkdir()
    words = ["get", "secrets,configmaps", "-A", "-o", "json"]
    (saved / "all.json").write_text(tools.typed_by_kubectl(cluster, *words))
    with tools.calling("--snapshot", str(saved), toolsets="helm") as call:
        found = rows(call("helm_list", status="all"))
        assert {each["name"]: each["chart"] for each in found} == {
            each["name"]: each["chart"] for each in typed_list(typed, "-A", "-a")
        }
        values = tools.text(call("helm_get_values", releaseName="web", namespace=NAMESPACE, revision=3))
        assert values.rstrip("\n") == "replicas: 3"


def test_each_call_is_on_record_as_what_it_is(cluster: Path, tmp_path: Path) -> None:
    """A release, its holder, and that a part of it was served; the record has no name of the Secret's own resource."""
    record = tmp_path / "audit.jsonl"
    with tools.calling("--kubeconfig", str(cluster), "--audit", str(record), toolsets="helm") as call:
        tools.text(call("helm_status", releaseName="web", namespace=NAMESPACE))
    calls = [each for line in record.read_text().splitlines() if (each := json.loads(line))["type"] == "call"]
    told = [(each["verb"], each["group"], each["version"], each["resource"], each["served"]) for each in calls]
    lists = [("list", "helm.sh", holder, "releases", "release") for holder in ("configmaps", "secrets")]
    assert sorted(told[:2]) == lists and told[2:] == [("get", "helm.sh", "secrets", "releases", "release")]
    assert calls[2]["name"] == "sh.helm.release.v1.web.v4" and calls[2]["namespace"] == NAMESPACE


def test_who_may_not_read_secrets_reads_no_releases(scratch: ControlPlane) -> None:
    """RBAC's own sentence comes back."""
    nobody = scratch.kubeconfig_for("nobody-in-particular")
    with tools.calling("--kubeconfig", str(nobody), toolsets="helm") as call:
        refused = call("helm_list")
        assert refused.is_error and "secrets is forbidden" in clients.whole(refused), clients.whole(refused)


REPOSITORIES = """
apiVersion: ""
repositories:
- {name: stable, url: "https://charts.example.com/stable", username: admin, password: hunter22}
- {name: own, url: "https://robot:Tr0ub4dor@charts.example.com/own?token=s3cr3t"}
"""


def test_repositories_are_named_without_their_credentials(tmp_path: Path) -> None:
    """As `helm repo list` prints them, but for what lets anybody in; without a file there are none."""
    file = tmp_path / "repositories.yaml"
    variables = {"HELM_REPOSITORY_CONFIG": str(file)}

    async def ask() -> None:
        flags = ("--toolsets", "helm", "--snapshot", str(DEMO))
        async with clients.connect("memory", flags, environment=variables) as client:

            async def call(**arguments: str) -> mcp_types.CallToolResult:
                return await client.call_tool("helm_repo_list", arguments)

            assert tools.text(await call()) == "no repositories to show"
            file.write_text(REPOSITORIES)
            said = tools.text(await call(output="json"))
            assert json.loads(said) == [
                {"name": "stable", "url": "https://charts.example.com/stable"},
                {"name": "own", "url": "https://***@charts.example.com/own?***"},
            ]
            assert yaml.safe_load(tools.text(await call(output="yaml"))) == json.loads(said)
            assert tools.text(await call()).splitlines()[0] == "NAME    URL"
            file.write_text("password: [hunter22")
            broken = await call()
            assert broken.is_error and "hunter22" not in clients.whole(broken)

    anyio.run(ask)


def test_a_saved_cluster_with_metadata_of_secrets_lists_releases() -> None:
    """Name, revision and state are labels; what is in the release was not saved."""
    with tools.calling("--snapshot", str(DEMO), toolsets="helm") as saved:
        head, row, *_ = tools.text(saved("helm_list")).splitlines()
        assert head.split()[:5] == ["NAME", "NAMESPACE", "REVISION", "UPDATED", "STATUS"]
        name, namespace, revision, _, status, chart = row.split()
        assert (name, namespace, revision, status, chart) == ("storefront", "shop", "5", "deployed", "(unreadable)")


def test_a_saved_cluster_without_secrets_has_no_releases(saved_without_secrets: Path) -> None:
    """The answer says why, without the path that the tool asked for."""
    with tools.calling("--snapshot", str(saved_without_secrets), toolsets="helm") as saved:
        for refused in (saved("helm_list"), saved("helm_status", releaseName="web")):
            said = clients.whole(refused)
            assert refused.is_error
            assert "Helm keeps its releases in Secrets, which this saved cluster does not hold" in said
            assert "/apis/" not in said
        assert not saved("helm_repo_list").is_error
