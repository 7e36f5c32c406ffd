"""Clusters that are found: kubeconfigs of strangers do nothing here, and a folder of the operator's is followed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubescript import errors
from kubescript.fleet import fleet, folder, member
from tests.kit import patience

CLUSTER = {"server": "https://10.0.0.1:6443", "certificate-authority-data": "Q0E="}
USER = {"token": "t0ken"}


def kubeconfig(cluster: Mapping[str, Any] = CLUSTER, user: Mapping[str, Any] = USER, name: str = "c") -> dict[str, Any]:
    """A kubeconfig with one context."""
    context = {"cluster": "gke_x", "user": "u", "namespace": "shop"}
    return {
        "clusters": [{"name": "gke_x", "cluster": dict(cluster)}],
        "users": [{"name": "u", "user": dict(user)}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({}, {"exec": {"command": "/bin/sh", "apiVersion": "client.authentication.k8s.io/v1"}}),
        ({}, {"auth-provider": {"name": "gcp"}}),
        ({}, {"tokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token"}),
        ({}, {"client-certificate": "/etc/hostname"}),
        ({}, {"client-key": "/etc/shadow"}),
        ({}, {"token": {"a": "b"}}),
        ({"certificate-authority": "/etc/hostname"}, {}),
        ({"proxy-url": "http://10.0.0.2:3128"}, {}),
        ({"server": "http://10.0.0.1"}, {}),
        ({"server": "unix:///run/docker.sock"}, {}),
        ({"server": None}, {}),
        ({"server": "https://10.0.0.1/admin/delete?x="}, {}),
        ({"server": "https://10.0.0.1/admin#"}, {}),
        ({"server": "https://a:b@10.0.0.1"}, {}),
        ({"server": "https://["}, {}),
        ({"insecure-skip-tls-verify": True}, {}),
        ({}, {"token": "a\r\nX-Remote-User: admin"}),
        ({}, {"as": "system:admin"}),
    ],
)  # fmt: skip
def test_a_strangers_kubeconfig_neither_runs_nor_reads_anything(cluster: dict[str, Any], user: dict[str, Any]) -> None:
    """It is refused without a word of its values, and a plain one is then accepted."""
    hostile = kubeconfig({**CLUSTER, **cluster}, {**USER, **user})
    with pytest.raises(errors.ClusterError, match="cluster c1 cannot be used") as refused:
        member.check("c1", {}, json.dumps(hostile).encode())
    values = [str(value) for value in (*cluster.values(), *user.values()) if value]
    assert not any(value in refused.value.message for value in values)
    kept = member.check("c1", {"env": "prod"}, yaml.safe_dump(kubeconfig()).encode())
    data = json.loads(kept.kubeconfig)
    assert data["clusters"] == [{"name": "found", "cluster": CLUSTER}], "no name of gcloud's"
    assert data["users"][0]["user"] == USER and data["contexts"][0]["context"]["namespace"] == "shop"
    assert "t0ken" not in repr(kept)


@pytest.mark.parametrize("name", ["", "../x", "a/b", "A", "a\nb", "x" * 254])
def test_a_found_cluster_has_the_name_of_an_object(name: str) -> None:
    """Any other name is refused."""
    with pytest.raises(errors.ClusterError):
        member.check(name, {}, json.dumps(kubeconfig()).encode())


def test_a_kubeconfig_of_yaml_aliases_costs_nothing() -> None:
    """Merges of merges would double with each line."""
    lines = ["a0: &a0 {k: v}", *(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}" for n in range(1, 40))]
    with pytest.raises(errors.ClusterError, match="not valid YAML"):
        member.check("c1", {}, "\n".join(lines).encode())


@pytest.mark.parametrize("token", ["!!bool x", "!!timestamp x", "!!float x", "!!binary eA==", "1" + ":1" * 30_000])
def test_no_value_of_a_strangers_kubeconfig_is_converted(token: str) -> None:
    """A conversion fails with an error of any kind, whose text is the value, or takes long."""
    content = f"{yaml.safe_dump(kubeconfig(user={}))}\nusers: [{{name: u, user: {{token: {token}}}}}]"
    kept = member.check("c1", {}, content.encode())
    assert json.loads(kept.kubeconfig)["users"][0]["user"] == {"token": token.rsplit(maxsplit=1)[-1]}


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[fleet.Fleet]:
    """A fleet of the kubeconfigs in `tmp_path`."""
    found = fleet.Fleet(folder.Folder(tmp_path, every_s=0.02), max_clusters=3)
    found.start()
    yield found
    found.close()


def wait_for(found: fleet.Fleet, names: set[str]) -> Mapping[str, member.Member]:
    """The members, once they have these names."""
    patience.until(lambda: set(found.members()) == names)
    return found.members()


def write(path: Path, data: object) -> None:
    """Replaces a file in one step, as a mounted Secret is."""
    beside = path.with_name(f".{path.name}")
    beside.write_text(yaml.safe_dump(data))
    beside.rename(path)


def test_a_folder_is_followed(watched: fleet.Fleet, tmp_path: Path) -> None:
    """Clusters come and go with their files, paths stay those of the file, and a name never means another cluster."""
    first = kubeconfig(user={"tokenFile": "token"}, name="arn:aws:eks:eu:1:cluster/a")
    extension = {"name": "kubescript", "extension": {"labels": {"env": "prod"}}}
    first["contexts"][0]["context"]["extensions"] = [extension]
    write(tmp_path / "a.yaml", first)
    members = wait_for(watched, {"arn:aws:eks:eu:1:cluster/a"})
    (found,) = members.values()
    assert found.labels == {"env": "prod"}
    assert json.loads(found.kubeconfig)["users"][0]["user"] == {"tokenFile": str(tmp_path / "token")}
    write(tmp_path / "b.yaml", kubeconfig(name="default"))
    wait_for(watched, {found.name, "default"})
    write(tmp_path / "a.yaml", kubeconfig(name="default"))
    both = wait_for(watched, {"a-default", "b-default"})
    assert json.loads(both["a-default"].kubeconfig)["current-context"] == "a-default"
    write(tmp_path / "c.yaml", kubeconfig(name="b-default"))
    wait_for(watched, {"a-default"})
    assert watched.left_out == 2
    write(tmp_path / "c.yaml", {})
    wait_for(watched, {"a-default", "b-default"})
    assert watched.left_out == 0
    write(tmp_path / "b.yaml", {"contexts": "none"})
    wait_for(watched, {"default"})
    (tmp_path / "a.yaml").unlink()
    wait_for(watched, set())


def test_no_file_stops_the_others(watched: fleet.Fleet, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """What YAML has and JSON has not leaves out that context alone, without a word of it in the log."""
    values = ("!!bool c4nary", "{1: c4nary, a: b}", "&a [*a]", "!!float c4nary")
    for number, value in enumerate(values):
        content = f"{yaml.safe_dump(kubeconfig(name='bad'))}\nusers: [{{name: u, user: {{token: {value}}}}}]"
        (tmp_path / f"{number}.yaml").write_text(content)
    write(tmp_path / "z.yaml", kubeconfig(name="good"))
    wait_for(watched, {"good"})
    assert watched.left_out == len(values)
    for number in range(len(values)):
        assert f"{number}.yaml" in caplog.text
    assert "c4nary" not in caplog.text
    write(tmp_path / "0.yaml", kubeconfig(name="mended"))
    wait_for(watched, {"good", "mended"})


def test_no_more_clusters_than_the_maximum(watched: fleet.Fleet, tmp_path: Path) -> None:
    """The first ones by name are offered."""
    for number in range(5):
        write(tmp_path / f"{number}.yaml", kubeconfig(name=f"c{number}"))
    wait_for(watched, {"c0", "c1", "c2"})
    (tmp_path / "0.yaml").unlink()
    wait_for(watched, {"c1", "c2", "c3"})
