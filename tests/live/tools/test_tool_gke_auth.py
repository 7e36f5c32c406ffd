"""gke_auth before a real API server that accepts the tokens of a stand-in for Google's token endpoint."""

from __future__ import annotations

import base64
import contextlib
import logging
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import yaml
from anyio.from_thread import start_blocking_portal

from kubescript import installation, logs
from tests.kit import clients, tools, trails
from tests.kit import google as googles
from tests.kit.api_server import Server
from tests.kit.controlplane import rights
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Object, Writer
from tests.kit.google import Google

NAMESPACE = "gke-auth"
READER, SECOND = (f"system:serviceaccount:{NAMESPACE}:{name}" for name in ("reader", "second"))
"""Users of the API server, each with a token of Google's, so that a test sees which one was sent."""
NAME = "gke_shop-prod_europe-west1_one"
WHO = "k8s.authenticationV1().create_self_subject_review({}).status.user_info.username"


@pytest.fixture(scope="module")
def tokens(scratch: ControlPlane) -> tuple[str, str]:
    """What the stand-in for Google gives: tokens that the API server takes, of two users who may do everything."""
    version, names = "rbac.authorization.k8s.io/v1", ("reader", "second")
    group = version.partition("/")[0]
    accounts = [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE} for name in names]
    binding: Object = {
        "apiVersion": version, "kind": "ClusterRoleBinding", "metadata": {"name": NAMESPACE}, "subjects": accounts,
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
    }  # fmt: skip
    made: list[Object] = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": NAMESPACE}}
        for name in names
    ]
    namespace: Object = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    Writer(scratch.kubeconfig).create_all([[namespace, binding], made])
    rights.wait(scratch.kubeconfig, READER, "list", "namespaces")
    words = ("create", "token", "-n", NAMESPACE)
    first, second = (tools.typed_by_kubectl(scratch.kubeconfig, *words, name).strip() for name in names)
    return first, second


@pytest.fixture
def google(tokens: tuple[str, str]) -> Iterator[Google]:
    with contextlib.closing(Google(*tokens)) as made:
        yield made


@pytest.fixture
def account(google: Google, tmp_path: Path) -> Path:
    """A service account's key file whose token endpoint is the stand-in."""
    return googles.account(google, tmp_path)


def config(plane: ControlPlane, folder: Path, users: dict[str, dict[str, Any]], **cluster: object) -> Path:
    """A context, a cluster and a user of each name, as gcloud writes them."""
    authority = base64.b64encode((plane.folder / "ca.crt").read_bytes()).decode()
    server = {"server": plane.url, "certificate-authority-data": authority} | cluster
    path = folder / "config"
    path.write_text(yaml.safe_dump({
        "apiVersion": "v1", "kind": "Config", "current-context": next(iter(users)),
        "clusters": [{"name": name, "cluster": {k: v for k, v in server.items() if v is not None}} for name in users],
        "users": [{"name": name, "user": user} for name, user in users.items()],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in users],
    }))  # fmt: skip
    return path


PLUGIN_USER = {
    "exec": {
        "apiVersion": "client.authentication.k8s.io/v1beta1", "command": "gke-gcloud-auth-plugin",
        "provideClusterInfo": True, "interactiveMode": "Never",
    }
}  # fmt: skip


class Session:
    """Calls of one server, and everything that it said."""

    def __init__(self, call: tools.Call) -> None:
        self._call = call
        self.said = ""

    def __call__(self, tool: str, /, **arguments: object) -> Any:
        result = self._call(tool, **arguments)
        self.said += f"{result.meta}{clients.whole(result)}\n"
        return result

    def who(self, cluster: str = NAME) -> str:
        """Who the API server takes us for."""
        return clients.text(self("evaluate_script", script=f"k8s = k8s.context({cluster!r})\n{WHO}"))


Serving = Callable[..., contextlib.AbstractContextManager[Session]]


@pytest.fixture
def serving(tokens: tuple[str, str]) -> Serving:
    """Starts a server that is asked with these variables. Whatever it says or logs, no token is in it."""

    @contextlib.contextmanager
    def started(path: Path, *flags: str, **environment: str) -> Iterator[Session]:
        flags = ("--toolsets", "cluster,code", "--kubeconfig", str(path), *flags)
        # Without the machine's own programs and home: a test must not find a developer's Google account.
        folder = str(path.parent)
        alone = {"PATH": folder, "HOME": folder, "CLOUDSDK_CONFIG": folder, "NO_GCE_CHECK": "true"}
        variables = alone | {"XDG_CACHE_HOME": clients.CACHE} | environment
        with logged(path.with_name("log")) as log, start_blocking_portal() as portal:
            connected = clients.connect("memory", flags, environment=variables)
            with portal.wrap_async_context_manager(connected) as client:
                session = Session(lambda tool, /, **arguments: portal.call(client.call_tool, tool, arguments))
                yield session
        heard = log.read_text()
        assert "the log is on" in heard
        for secret in (*tokens, "eyJhbGciOi"):
            assert secret not in session.said
            assert secret not in heard

    return started


@contextlib.contextmanager
def logged(file: Path) -> Iterator[Path]:
    """Within it, this process logs into the file as a server does."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logs.configure("debug", file=file)
    logging.getLogger(__name__).debug("the log is on")
    try:
        yield file
    finally:
        root.handlers[:] = handlers
        logs.set_level(logging.getLevelName(level))


def plugin(folder: Path, token: str) -> str:
    """A stand-in for GKE's plugin; returns the PATH of its folder."""
    program = folder / "bin" / "gke-gcloud-auth-plugin"
    program.parent.mkdir()
    program.write_text(f"""#!{sys.executable}
import json, os
asked = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
status = {{"token": {token!r}, "expirationTimestamp": "2099-01-01T00:00:00Z"}}
print(json.dumps({{"apiVersion": asked["apiVersion"], "kind": "ExecCredential", "status": status}}))
""")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program.parent)


# --- logging in ---


@pytest.mark.parametrize("user", [{}, PLUGIN_USER], ids=["no credentials", "a plugin that is not there"])
def test_a_cluster_is_logged_in_to_through_google_auth(
    serving: Serving,
    tokens: tuple[str, str],
    user: dict[str, Any],
    scratch: ControlPlane,
    account: Path,
    google: Google,
    tmp_path: Path,
) -> None:
    """Every call after that is made as Google's user; the token is asked for once, and is in no record."""
    path, audit = config(scratch, tmp_path, {NAME: user}), tmp_path / "audit.jsonl"
    variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
    with serving(path, "--audit", str(audit), **variables) as call:
        assert call("evaluate_script", script="len(k8s.coreV1().list_namespace())").is_error
        told = tools.text(call("gke_auth", cluster=NAME))
        assert told.startswith(f"logged in to {NAME} as {READER} (Kubernetes v1.")
        assert call.who() == READER
        assert tools.text(call("evaluate_script", script="len(k8s.coreV1().list_namespace()) > 0")) == "true"
    assert google.asked == 1
    assert tokens[0] not in audit.read_text()
    assert [each["resource"] for each in trails.records(audit, "call")].count("selfsubjectreviews") == 2


def test_a_login_is_not_verified_where_nobody_asks_for_it(
    serving: Serving, scratch: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Google gave a token, and the cluster was not asked."""
    path, audit = config(scratch, tmp_path, {NAME: {}}), tmp_path / "audit.jsonl"
    with serving(path, "--audit", str(audit), GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert tools.text(call("gke_auth", cluster=NAME, verify=False)).startswith(f"logged in to {NAME}; verify=true")
        assert google.asked == 1
        assert trails.records(audit, "call") == []
        assert call.who() == READER


def test_a_token_is_replaced_before_it_expires(
    serving: Serving, scratch: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """The next call has the next token."""
    google.lives_s = 30
    path = config(scratch, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        tools.text(call("gke_auth", cluster=NAME, verify=False))
        google.lives_s = 3600
        assert [call.who(), call.who()] == [SECOND] * 2
    assert google.asked == 2


def test_a_token_that_the_cluster_refuses_is_replaced(
    serving: Serving, tokens: tuple[str, str], scratch: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """A session of the account that was ended early: the 401 brings a new token."""
    google.answers = ["ya29.ended", tokens[1]]
    path = config(scratch, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert f"as {SECOND}" in tools.text(call("gke_auth", cluster=NAME))
        google.answers = ["ya29.ended"]
        assert call.who() == SECOND


def test_the_plugin_is_used_where_google_auth_has_no_credentials(
    serving: Serving, tokens: tuple[str, str], scratch: ControlPlane, tmp_path: Path
) -> None:
    """As kubectl uses it."""
    path = config(scratch, tmp_path, {NAME: {}})
    with serving(path, PATH=plugin(tmp_path, tokens[1])) as call:
        assert f"as {SECOND} (Kubernetes" in tools.text(call("gke_auth", cluster=NAME))
        assert call.who() == SECOND


def test_the_region_replaces_the_location_in_the_id(
    serving: Serving, scratch: ControlPlane, account: Path, tmp_path: Path
) -> None:
    """The cluster that is named so must be one of the server's."""
    other = "gke_shop-prod_us-east1_one"
    path = config(scratch, tmp_path, {NAME: {}, other: {}})
    flags = ("--contexts", f"{NAME},{other}")
    with serving(path, *flags, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert f"logged in to {other} as" in tools.text(call("gke_auth", cluster=NAME, region="us-east1"))
        assert call.who(other) == READER
        assert call.who(NAME) != READER
        unknown = call("gke_auth", cluster=NAME, region="asia-east1")
        assert "this server has no cluster gke_shop-prod_asia-east1_one" in clients.whole(unknown)
        bad = call("gke_auth", cluster=NAME, region="a_b")
        assert clients.whole(bad) == "Error: region is a location such as europe-west1 or europe-west1-b, not a_b"


# --- what is refused ---


def test_without_library_and_plugin_the_prerequisite_is_told(
    serving: Serving, scratch: ControlPlane, tmp_path: Path
) -> None:
    """In the contract's form: what is missing, and how to get it."""
    path = config(scratch, tmp_path, {NAME: {}})
    with mock.patch.dict(sys.modules, {"google.auth": None}), serving(path) as call:
        told = call("gke_auth", cluster=NAME)
        assert told.is_error
        assert clients.whole(told) == (
            "Error: prerequisite check failed\n\n"
            "Details: google-auth is not installed; gke-gcloud-auth-plugin is not on the server's PATH\n\n"
            f"Suggested action: on the server's machine: {installation.suggest_extra('gke')} and gcloud auth "
            "application-default login, or install gke-gcloud-auth-plugin and gcloud auth login"
        )
        meta = {name: told.meta[name] for name in ("errorType", "cluster", "tool", "requiresAction")}
        assert meta == {"errorType": "PrerequisiteError", "cluster": NAME, "tool": "gke_auth", "requiresAction": True}
    with serving(path, KUBESCRIPT_LANGUAGE="zh") as call:
        told = call("gke_auth", cluster=NAME)
        assert clients.whole(told).startswith("錯誤: 前置條件檢查失敗\n\n錯誤詳情: google-auth 找不到")


def test_a_login_that_google_refuses_is_told_without_its_words(
    serving: Serving, tokens: tuple[str, str], scratch: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Google's error quotes what was sent. The next login works."""
    google.answers = ["", tokens[0]]
    path = config(scratch, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        assert "google-auth got no token (RefreshError)" in clients.whole(call("gke_auth", cluster=NAME))
        assert f"as {READER}" in tools.text(call("gke_auth", cluster=NAME))


def test_a_google_account_that_the_cluster_does_not_know_is_told(
    serving: Serving, scratch: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """Logging in again would not help, so the advice is another."""
    google.answers = ["ya29.nobody"]
    path = config(scratch, tmp_path, {NAME: {}})
    with serving(path, GOOGLE_APPLICATION_CREDENTIALS=str(account)) as call:
        told = call("gke_auth", cluster=NAME)
    assert told.is_error
    assert "the cluster refuses Google's token" in clients.whole(told)
    assert told.meta["suggestion"].startswith(f"give the Google account access to {NAME}")


def test_other_credentials_stay_as_they_are(
    serving: Serving, tokens: tuple[str, str], scratch: ControlPlane, account: Path, google: Google, tmp_path: Path
) -> None:
    """A token of the kubeconfig, another plugin, a cluster without credentials whose name is not gcloud's."""
    users: dict[str, dict[str, Any]] = {
        "own": {"token": tokens[1]},
        "other": {"exec": PLUGIN_USER["exec"] | {"command": "aws"}},
        "bare": {},
    }
    path = config(scratch, tmp_path, users)
    variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
    with serving(path, "--contexts", ",".join(users), **variables) as call:
        for name in users:
            refused = call("gke_auth", cluster=name)
            assert refused.is_error
            assert f"other credentials for {name} than GKE's" in clients.whole(refused)
        assert call.who("own") == SECOND
    assert google.asked == 0


def test_a_saved_cluster_needs_no_login(tmp_path: Path) -> None:
    """It says so."""
    file = trails.snapshot(tmp_path)
    with tools.calling("--snapshot", str(file), toolsets="cluster,code") as call:
        name = clients.text(call("evaluate_script", script="ctx.name"))
        assert "is a saved cluster" in clients.whole(call("gke_auth", cluster=name))


# --- whom the token is sent to ---


def test_googles_token_is_sent_to_a_proven_server_only(
    serving: Serving, scratch: ControlPlane, account: Path, tmp_path: Path
) -> None:
    """Attack: a cluster whose certificate nobody verifies, or without TLS, would collect a token for all of Google's
    cloud."""
    listener = Server()
    variables = {"GOOGLE_APPLICATION_CREDENTIALS": str(account)}
    unverified = {"insecure-skip-tls-verify": True, "certificate-authority-data": None}
    with contextlib.closing(listener):
        for cluster in ({"server": listener.url}, unverified):
            path = config(scratch, tmp_path, {NAME: {}}, **cluster)
            with serving(path, **variables) as call:
                refused = call("gke_auth", cluster=NAME)
                assert refused.is_error
                assert "over https with a verified certificate only" in clients.whole(refused)
                assert call.who() not in {READER, SECOND}
    assert not any("uthorization" in each for each in listener.requests)
    path = config(scratch, tmp_path, {NAME: {}})
    with serving(path, **variables) as call:
        assert "logged in" in tools.text(call("gke_auth", cluster=NAME))
