"""docs/operate.md, typed by an administrator: its commands make an installation of three replicas on a real API server with
a real PostgreSQL, and take all of it away. The server of a pod runs here, since the nodes are simulated."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import re
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from kubescript.changes.store import store
from kubescript_safety.controlplane import live
from tests.kit import chart, clients, kubectl, paths, pod, prometheus, stored_plans, trails
from tests.kit import helm as helms
from tests.kit.postgres import Postgres

_PAGE: Final = (paths.ROOT / "docs" / "operate.md").read_text("utf-8")
_NODES: Final = "len(k8s.coreV1().list_node())"
_DATABASE: Final = re.compile(r"@db\.example\.com/kubescript\?[^\"]+")
_KEPT: Final = "SELECT plan, tableowner FROM kubescript_runbook_uses, pg_tables WHERE tablename = $$kubescript_plans$$"
_DATABASE_ID: Final = "psql -At --command \"SELECT oid FROM pg_database WHERE datname = 'kubescript'\""
_PODS: Final = "kubectl get pods --namespace kubescript --output name"
_VOLUME: Final = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: shared}
spec: {storageClassName: shared, accessModes: [ReadWriteMany], capacity: {storage: 20Gi}, hostPath: {path: /nonexistent}}
"""
_KUBECTL: Final = """#!/bin/bash
# A simulated pod runs nothing: `kubectl exec` runs the command here, as the pod would.
if [ "$1" = exec ]; then
  while [ "$1" != -- ]; do shift; done
  shift
  . "$HOME/pod.env"
  exec "${@/#\\//$POD/}"
fi
exec PROGRAM "$@"
"""


def section(title: str) -> str:
    """What stands under a heading of the page."""
    found = _PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    assert found, title
    return found


class Administrator:
    """A shell in a home with the files of the page, whose `kubectl` and `psql` are the cluster's and the database's."""

    def __init__(self, cluster: live.Cluster, database: Postgres, home: Path) -> None:
        self.home = home
        self._database = database
        self._url = ""
        programs = home / "bin"
        programs.mkdir()
        (programs / "helm").symlink_to(helms.program())
        wrapper = _KUBECTL.replace("PROGRAM", str(kubectl.program()))
        for name, text in (("kubectl", wrapper), ("claude", "#!/bin/sh\n")):
            (programs / name).write_text(text)
            (programs / name).chmod(0o755)
        for name in ("charts", "examples"):
            (home / name).symlink_to(paths.ROOT / name)
        (home / "kubeconfig").write_bytes(cluster.plane.kubeconfig.read_bytes())
        self._environment = os.environ | database.variables() | {
            "HOME": str(home), "KUBECONFIG": str(home / "kubeconfig"), "XDG_CACHE_HOME": clients.CACHE,
            "PATH": f"{programs}:{Path(clients.KUBESCRIPT).parent}:{os.environ['PATH']}",
        }  # fmt: skip

    def type(self, commands: str) -> str:
        """Runs commands; returns what they print. The database of the page is at a socket here."""
        text = _DATABASE.sub(f"@/kubescript?host={self._database.folder}", commands)
        text = f'curl() {{ command curl --silent --connect-to "::$SERVED" "$@"; }}\n{text.replace("curl https:", "curl http:")}'
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text],
            cwd=self.home, env=self._environment | {"SERVED": self._url}, capture_output=True, text=True, timeout=180,
        )  # fmt: skip
        assert done.returncode == 0, f"{commands}\n{done.stdout[-1000:]}{done.stderr[-2000:]}"
        return done.stdout

    def follow(self, title: str) -> str:
        """Writes the files of a section, and runs its commands."""
        for text in re.findall(r"```yaml\n# (\S+\n.*?)```", section(title), re.DOTALL):
            name, _, content = text.partition("\n")
            (self.home / name).write_text(content)
        return self.type("".join(re.findall(r"```console\n(.*?)```", section(title), re.DOTALL)))

    @contextlib.contextmanager
    def plans(self) -> Iterator[store.Store]:
        """The plans of the database, by the URL in the Secret."""
        look = (
            "kubectl get secret kubescript-store --namespace kubescript --output 'jsonpath={.data.store}' | base64 -d"
        )
        with contextlib.closing(store.Store(self.type(look))) as opened:
            yield opened

    @contextlib.contextmanager
    def serving(self, name: str) -> Iterator[pod.Pod]:
        """The server of a pod, with the Secrets of the cluster and the rights of its account."""
        manifest = chart.by_kind(self.type("helm get manifest kubescript --namespace kubescript"))
        kept = yaml.safe_load(self.type("kubectl get secrets --namespace kubescript --output yaml"))["items"]
        secrets = {
            each["metadata"]["name"]: {key: base64.b64decode(value) for key, value in each["data"].items()}
            for each in kept
        }
        root = self.home / name
        server = pod.Pod(manifest, root, secrets)
        self.type(
            f"cp kubeconfig {name}.kubeconfig; kubectl --kubeconfig {name}.kubeconfig config set-credentials pod --token"
            " $(kubectl create token kubescript --namespace kubescript);"
            f" kubectl --kubeconfig {name}.kubeconfig config set-context --current --user pod --namespace kubescript"
        )
        self._mount_account(root)
        environment = server.environment | {"KUBECONFIG": str(self.home / f"{name}.kubeconfig")}
        lines = [f"export {key}='{value}'\n" for key, value in environment.items()]
        (self.home / "pod.env").write_text("".join(lines) + f"POD='{root}'\n")
        with clients.serving(server.arguments, **environment) as port:
            self._url = f"127.0.0.1:{port}"
            yield server

    def _mount_account(self, root: Path) -> None:
        """Puts the files of the pod's account where the kubeconfig of its own cluster looks for them."""
        folder, file = f"{root}/var/run/secrets/kubernetes.io/serviceaccount", f"{root}/etc/kubescript/own.kubeconfig"
        minify = "kubectl config view --raw --minify --flatten --output"
        self.type(
            f"mkdir -p {folder}; kubectl create token kubescript --namespace kubescript > {folder}/token;"
            f" {minify} 'jsonpath={{.clusters[0].cluster.certificate-authority-data}}' | base64 -d > {folder}/ca.crt;"
            f" server=$({minify} 'jsonpath={{.clusters[0].cluster.server}}'); test ! -e {file} ||"
            f' sed -i "s|https://kubernetes.default.svc|$server|; s| /var/| {root}/var/|" {file}'
        )


@pytest.fixture
def administrator(live_cluster: live.Cluster, postgresql: Postgres, tmp_path: Path) -> Iterator[Administrator]:
    """With what the page asks for: a certificate, a volume that nodes share, a namespace of Prometheus, another cluster."""
    made = Administrator(live_cluster, postgresql, tmp_path)
    (tmp_path / "shared.yaml").write_text(_VOLUME)
    made.type(
        "touch db-ca.crt; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=kubescript"
        " -keyout tls.key -out tls.crt; kubectl create --filename shared.yaml; kubectl create namespace monitoring;"
        " kubectl config set-context prod-eu --cluster $(kubectl config view --output 'jsonpath={.clusters[0].name}')"
        " --user $(kubectl config view --output 'jsonpath={.users[0].name}')"
    )
    yield made
    made.type(
        "kubectl delete --ignore-not-found namespace kubescript kubescript-clusters kubescript-access monitoring;"
        " kubectl delete --filename shared.yaml --ignore-not-found"
    )


def ask(administrator: Administrator, script: str) -> str:
    """The answer to the page's first question with another script."""
    asked = re.findall(r"```console\n(curl .*?)```", section("Check"), re.DOTALL)[0]
    token = (administrator.home / "token").read_text()
    return administrator.type(f"token={token}\n" + asked.replace(_NODES, script))


def test_the_page_leads_there_and_back(administrator: Administrator) -> None:
    """Three pods are ready, a caller gets an answer, the record verifies, a cluster is found; secrets change, the release goes
    forth and back; in the end nothing is left."""
    for title in ("Namespace", "PostgreSQL", "PostgreSQL"):  # as after an error
        administrator.follow(title)
    token = administrator.follow("Callers").splitlines()[-1]
    (administrator.home / "token").write_text(token)
    administrator.follow("Values")
    assert "list, watch" in administrator.follow("Roles")
    administrator.follow("TLS")
    installed = administrator.follow("Install")
    assert installed.count("1/1") == 3
    assert "serves https://kubescript.example.com/mcp" in installed and "once the Secret" not in installed
    with administrator.serving("first") as served:
        commands = section("Check").replace("$token", token)
        doctor = administrator.type(re.findall(r"```console\n(kubectl exec.*?)```", commands, re.DOTALL)[0])
        assert "system:serviceaccount:kubescript:kubescript" in doctor
        assert "; 1 replica is alive" in doctor  # of three: nodes are simulated
        assert ask(administrator, _NODES).strip() in section("Check")
        keep_record(administrator, Path(served.place("/var/lib/kubescript")))
    administrator.follow("Monitoring")
    check_scraping(administrator.home / "prometheus.yml")
    administrator.type(
        "kubectl auth can-i watch pods --namespace kubescript --as system:serviceaccount:monitoring:prometheus"
    )
    administrator.follow("Other clusters")
    administrator.type(re.findall(r"```console\n(.*?)```", section("Other clusters"), re.DOTALL)[1])  # another token
    newer = administrator.follow("Callers").splitlines()[-1]
    with administrator.serving("second"):
        assert "prod-eu" in ask(administrator, "k8s.contexts()")
        (administrator.home / "token").write_text(newer)  # the older one has just been answered
        assert ask(administrator, _NODES).strip() in section("Check")
    administrator.follow("Log in")
    values = "--values values.yaml --values clusters.yaml --values login.yaml"
    (administrator.home / "settings").mkdir()
    text = administrator.type(f"helm template kubescript charts/kubescript --kube-version 1.30 {values}")
    auth = chart.settings(chart.by_kind(text), administrator.home / "settings").auth
    assert auth.issuer and auth.tokens_file
    administrator.follow("PostgreSQL")  # for another password; callers stay
    change_callers(administrator, newer)
    administrator.type("psql kubescript --command \"INSERT INTO kubescript_runbook_uses VALUES ('kept', 'one', 0)\"")
    declined = plan_two(administrator)
    before = administrator.type(_DATABASE_ID)
    assert "Rollback was a success" in administrator.follow("Upgrade")
    assert administrator.type(_DATABASE_ID) != before  # it was made again, of the dump
    assert "kept|kubescript" in administrator.type(f"psql kubescript -At --command '{_KEPT}'")
    with administrator.plans() as plans:
        kept = [each.plan.id for each in plans.newest()]
    assert kept == [declined]  # what waited may have been applied since the dump
    remove, look = re.findall(r"```console\n(.*?)```", section("Uninstall"), re.DOTALL)
    administrator.type(f"{remove}\nkubectl delete --filename shared.yaml  # the part of the volumes' class")
    assert administrator.type(look).strip() == ""


def plan_two(administrator: Administrator) -> str:
    """Stores two plans, one that waits and one that is declined, of which it returns the id."""
    waiting, declined = stored_plans.made(), stored_plans.made()
    with administrator.plans() as plans:
        for each in (waiting, declined):
            plans.add(each)
        plans.decide(declined.id, stored_plans.answer(declined, approves=False))
    return declined.id


def change_callers(administrator: Administrator, newer: str) -> None:
    """Follows the section about changes: of two lines the newer one is left, then none; all pods are other ones."""
    rotate, end_pods, restart = re.findall(r"```console\n(.*?)```", section("Change something"), re.DOTALL)
    (keep_none,) = re.findall(r"locks her out, with `(.*?)`", section("Change something"))
    lock_out = re.sub("keep=.*", lambda _: keep_none, rotate)
    look = "kubectl get secret kubescript --namespace kubescript --output 'jsonpath={.data.tokens\\.csv}' | base64 --decode"
    digest = hashlib.sha256(newer.encode()).hexdigest()
    assert administrator.type(look).count("alice") == 2
    assert administrator.type(rotate + look).endswith(f'sha256:{digest},alice,u-1,"platform"\n')
    before = set(administrator.type(_PODS).split())
    assert "alice" not in administrator.type(lock_out + look)
    administrator.type(end_pods + restart)
    assert before.isdisjoint(administrator.type(_PODS).split())


def keep_record(administrator: Administrator, volume: Path) -> None:
    """Follows the section about the record, with the old file of a pod that is gone: it is checked, copied and removed."""
    old = volume / "gone.jsonl"
    trails.fill(old)
    os.utime(old, (0, 0))
    said = administrator.follow("Audit")
    assert said.count("are whole") == 2 and "gone.jsonl: 7 records" in said
    with tarfile.open(administrator.home / "audit.tar") as copy:
        assert {"./gone.jsonl", "./kubescript-0.jsonl"} <= set(copy.getnames())
    assert [each.name for each in volume.iterdir()] == ["kubescript-0.jsonl"]
    heads = (administrator.home / "heads").read_text()
    assert "kubescript-0.jsonl" in heads and "BROKEN" not in heads


def check_scraping(file: Path) -> None:
    """Fails unless Prometheus reads the file. Debian's has no discovery in Kubernetes, so that stands for itself."""
    settings = yaml.safe_load(file.read_text())
    (found,) = settings["scrape_configs"][0].pop("kubernetes_sd_configs")
    assert found == {"role": "pod", "namespaces": {"names": ["kubescript"]}}
    file.write_text(yaml.safe_dump(settings))
    checked = prometheus.promtool("check", "config", "--syntax-only", str(file))
    assert checked.returncode == 0, checked.stderr


def values() -> dict[str, Any]:
    """The page's values."""
    found: dict[str, Any] = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", section("Values"), re.DOTALL)[0])
    return found


def test_the_gateway_s_values_go_with_the_others(tmp_path: Path) -> None:
    """In place of the Ingress: clients come from the Gateway's namespace and from no other."""
    gateway = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", section("TLS"), re.DOTALL)[0])
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values()))
    (tmp_path / "gateway.yaml").write_text(yaml.safe_dump(gateway))
    made = chart.by_kind(chart.render(tmp_path, "--values", str(file), "--values", str(tmp_path / "gateway.yaml")))
    assert "HTTPRoute" in made and "Ingress" not in made
    clients_of = made["NetworkPolicy"]["spec"]["ingress"][0]["from"][0]["namespaceSelector"]
    assert clients_of == {"matchLabels": {"kubernetes.io/metadata.name": "gateways"}}
