"""`kubescript doctor` finds what would keep a server for a team from starting, or its callers out, before it starts."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import http.server
import json
import secrets
import ssl
import threading
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from kubescript import config
from kubescript.cli import caller_tokens, demo, serving
from kubescript.fleet import directory, sources
from kubescript_safety.controlplane import pki
from tests.kit import clients, commands
from tests.kit.controlplane.server import ControlPlane
from tests.kit.controlplane.writer import Writer

SERVER = """
toolsets = ["code"]
host = "0.0.0.0"
port = 8443
[http]
url = "https://tools.example.com:8443/mcp"
[auth]
tokens_file = "tokens.csv"
"""
TLS = '[tls]\ncert_file = "tls.crt"\nkey_file = "tls.key"\nclient_ca_file = "ca.crt"\n'
NOTICES = '[plans.notify]\nurl_file = "webhook"\n'
INTROSPECTION = '[auth.introspection]\nurl = "https://127.0.0.1:1/x"\nclient_id = "k"\nclient_secret_file = "secret"\n'
FILES = {
    "tls.cert_file": "tls.crt",
    "tls.key_file": "tls.key",
    "tls.client_ca_file": "ca.crt",
    "auth.tokens_file": "tokens.csv",
    "auth.introspection.client_secret_file": "secret",
    "plans.notify.url_file": "webhook",
}


def doctor(folder: Path, settings: str, *flags: str) -> tuple[int, Any]:
    """Exit code and findings, with the folder as the working directory."""
    (folder / "server.toml").write_text(settings)
    bare = {**commands.BARE, "HOME": str(folder), "XDG_CACHE_HOME": clients.CACHE}
    done = commands.run("doctor", "--json", "--config", "server.toml", *flags, folder=folder, environment=bare)
    return done.returncode, json.loads(done.stdout)


def found(report: Any, mark: str) -> list[str]:
    """The texts of the findings with this mark."""
    return [each["text"] for each in report["serving"] if each["mark"] == mark]


@pytest.fixture
def team(tmp_path: Path) -> Path:
    """A folder with all files of a server."""
    authority = pki.Authority()
    authority.serving(["tools.example.com"], ["10.0.0.7"]).write(tmp_path, "tls")
    (tmp_path / "ca.crt").write_bytes(authority.certificate)
    (tmp_path / "tokens.csv").write_text(f"{secrets.token_hex(16)},ann,u-1,platform\n")
    (tmp_path / "tokens.csv").chmod(0o600)
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "webhook").write_text("https://chat.example.com/hook")
    return tmp_path


def test_each_file_that_is_not_there_is_named_with_its_setting(team: Path) -> None:
    """With exit code 1; when all are there, nothing is wrong."""
    settings = SERVER + TLS + INTROSPECTION + NOTICES
    code, report = doctor(team, settings, "--offline")
    assert (code, found(report, "FAILED")) == (0, []), report["serving"]
    for name in FILES.values():
        (team / name).rename(team / f"{name}.away")
    code, report = doctor(team, settings, "--offline")
    said = [text.partition(";")[0] for text in found(report, "FAILED")]
    assert code == 1 and said == [f"{setting}: no such file: {name}" for setting, name in FILES.items()]
    for name in FILES.values():
        (team / f"{name}.away").rename(team / name)
    assert doctor(team, settings, "--offline")[0] == 0


def test_a_certificate_is_checked_as_clients_check_it(team: Path) -> None:
    """Its key, its names and its dates."""
    other = pki.Authority().serving(["elsewhere.example.com"], [])
    (team / "tls.crt").write_bytes(other.certificate)
    code, report = doctor(team, SERVER + TLS, "--offline")
    assert code == 1 and "cannot be used together" in found(report, "FAILED")[0]
    pki.write_private(team / "tls.key", other.key)
    code, report = doctor(team, SERVER + TLS, "--offline")
    assert code == 1 and "is not for tools.example.com, the host of http.url" in found(report, "FAILED")[0]
    for days, mark, said in ((-1, "FAILED", "expired on"), (3, "WARNING", "expires on"), (90, "ok", "fits its key")):
        certify(team, days)
        code, report = doctor(team, SERVER + TLS, "--offline")
        assert code == (mark == "FAILED") and any(said in text for text in found(report, mark)), report["serving"]


@pytest.mark.parametrize("case", ["chain", "wildcard", "usage"])
def test_what_clients_refuse_in_a_certificate_is_wrong(case: str, team: Path) -> None:
    """An intermediate that has expired, a wildcard before a single label, and a certificate for callers."""
    settings = SERVER + TLS
    said = {"chain": "expired on", "wildcard": "is not for tools.corp", "usage": "lacks serverAuth"}[case]
    certify(team, 90)
    assert doctor(team, settings, "--offline")[0] == 0
    if case == "chain":
        certify(team, -1)
        expired = (team / "tls.crt").read_bytes()
        certify(team, 90)
        (team / "tls.crt").write_bytes((team / "tls.crt").read_bytes() + expired)
    elif case == "wildcard":
        certify(team, 90, "*.corp")
        settings = settings.replace("tools.example.com", "tools.corp")
    else:
        pki.Authority().client("ann").write(team, "tls")
    code, report = doctor(team, settings, "--offline")
    assert code == 1 and any(said in text for text in found(report, "FAILED")), report["serving"]


@pytest.mark.parametrize("case", ["trusted", "name", "authority"])
def test_a_certificate_that_only_openssl_reads_is_no_mistake(case: str, team: Path) -> None:
    """The server starts with it, so it is warned of: the label of a trusted certificate, and a name that is not ASCII."""
    path = team / ("ca.crt" if case == "authority" else "tls.crt")
    if case == "name":
        der = x509.load_pem_x509_certificate(path.read_bytes()).public_bytes(serialization.Encoding.DER)
        path.write_text(ssl.DER_cert_to_PEM_cert(der.replace(b"\x82\x11tools", b"\x82\x11t\xf6ols")))
    else:
        path.write_bytes(path.read_bytes().replace(b"CERTIFICATE", b"TRUSTED CERTIFICATE"))
    code, report = doctor(team, SERVER + TLS, "--offline")
    said = f"the server loads {path.name}, but not all of its names and dates can be read here"
    assert code == 0 and said in found(report, "WARNING"), report["serving"]


class _Inactive(http.server.BaseHTTPRequestHandler):
    """Says of each token that it is not active."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(b'{"active": false}')

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


def test_the_address_of_a_provider_is_shown_without_passwords(team: Path) -> None:
    """The report goes into bug reports: of the address it has scheme, host, port and path."""
    with http.server.HTTPServer(("127.0.0.1", 0), _Inactive) as provider:
        threading.Thread(target=provider.serve_forever, daemon=True).start()
        place = f"127.0.0.1:{provider.server_port}/x"
        address = f"http://u:hunter2@{place}?key=hunter3"
        _, report = doctor(team, SERVER + INTROSPECTION.replace("https://127.0.0.1:1/x", address))
        provider.shutdown()
    assert f"http://{place} answers" in found(report, "ok"), report["serving"]
    assert "hunter" not in json.dumps(report)


def certify(folder: Path, days: int, host: str = "*.example.com") -> None:
    """Writes a certificate that ends in so many days, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(days=10))
    builder = builder.not_valid_after(now + datetime.timedelta(days=days)).add_extension(names, critical=True)
    signed = builder.sign(key, hashes.SHA256())
    (folder / "tls.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    pki.write_private(folder / "tls.key", pki.private_pem(key))


def test_a_file_of_tokens_is_read_as_the_server_reads_it(team: Path) -> None:
    """A line that stops the server is named; two people with one uid are warned of, since they approve as one,
    and so is one name with two uids."""
    tokens = team / "tokens.csv"
    whole = tokens.read_text()
    tokens.write_text("short,ann\n")
    code, report = doctor(team, SERVER, "--offline")
    assert code == 1 and "line 1: a token has at least 16 characters" in found(report, "FAILED")[0]
    tokens.write_text(f"{whole}sha256:{hashlib.sha256(b'x').hexdigest()},bob,u-1\n")
    code, report = doctor(team, SERVER, "--offline")
    (warning,) = found(report, "WARNING")
    assert "tokens.csv has 2 tokens" in found(report, "ok")
    assert code == 0 and warning.startswith("ann, bob have the uid u-1, so they are one person")
    tokens.write_text(f"{whole}sha256:{hashlib.sha256(b'x').hexdigest()},ann,u-11\n")
    code, report = doctor(team, SERVER, "--offline")
    (warning,) = found(report, "WARNING")
    assert code == 0 and warning.startswith("ann has the uids u-1, u-11, so each is a caller")


def test_tokens_that_others_may_read_are_warned_of(team: Path) -> None:
    """As the server's start does; the exit code stays 0."""
    (team / "tokens.csv").chmod(0o644)
    code, report = doctor(team, SERVER, "--offline")
    said = "everybody on this machine can read tokens.csv: chmod 600 tokens.csv"
    assert code == 0 and said in found(report, "WARNING") and "tokens.csv has 1 token" in found(report, "ok")


def test_a_table_that_gives_no_context_is_wrong(team: Path) -> None:
    """Its callers would all be refused; one that gives another context is warned of."""
    table = '[[access]]\ncontexts = ["prd"]\n'
    code, report = doctor(team, SERVER + table, "--offline")
    (said,) = found(report, "FAILED")
    assert code == 1 and "names context 'prd', but `contexts` is not set: set it" in said
    snapshots = f'[contexts.dev]\nsnapshot = "{demo.SNAPSHOT}"\n'
    both = table.replace('"prd"', '"prd", "dev"')
    code, report = doctor(team, SERVER + both + snapshots, "--offline")
    (said,) = found(report, "WARNING")
    assert code == 0 and "names context 'prd', which is none of the setting `contexts` (dev)" in said


def test_each_table_is_told_with_what_it_permits(team: Path) -> None:
    """In the order in which they count; a pattern that no namespace matches is refused."""
    tables = '[[access]]\ngroups = ["team-a"]\nnamespaces = ["team-a-*", "shared"]\nwrites = "off"\n[[access]]\n'
    code, report = doctor(team, SERVER + tables, "--offline")
    told = [text for text in found(report, "ok") if ": " in text]
    assert code == 0
    assert told[-2:] == ["groups team-a: namespaces team-a-*, shared; writes off", "every caller: everything"]
    (team / "server.toml").write_text(SERVER + tables.replace("team-a-*", "team[ab]"))
    done = commands.run("doctor", "--config", "server.toml", folder=team, environment=commands.BARE)
    assert done.returncode == 1 and "access.0.namespaces" in done.stderr


DANGERS = {
    "clear text": ("https://", "http://", "CLEAR TEXT"),
    "no port": ('host = "0.0.0.0"\nport = 8443\n', "", "[http], [auth] count for nothing, since the server uses stdio"),
    "no name": ('url = "https://tools.example.com:8443/mcp"\n', "", "get 421"),
}


@pytest.mark.parametrize("case", DANGERS)
def test_what_an_operator_may_want_is_a_warning(case: str, team: Path) -> None:
    """It is told with the remedy, and the exit code stays 0."""
    before, after, said = DANGERS[case]
    assert found(doctor(team, SERVER, "--offline")[1], "WARNING") == []
    code, report = doctor(team, SERVER.replace(before, after), "--offline")
    assert code == 0 and any(said in warning for warning in found(report, "WARNING"))


@pytest.mark.parametrize(
    ("entry", "said"), [("tokenFile", "(tokenFile: No such file"), ("client-certificate", "client-certificate or")]
)
def test_an_entry_whose_file_is_missing_is_named_without_its_value(entry: str, said: str, team: Path) -> None:
    """Somebody may have given a token in place of a file."""
    (team / "config").write_text(
        json.dumps(
            {
                "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {entry: "s3cretvalue"}}],
                "contexts": [{"name": "team", "context": {"cluster": "c", "user": "u"}}],
            }
        )
    )
    code, report = doctor(team, SERVER, "--kubeconfig", "config", "--context", "team")
    problem = report["contexts"][0]["answer"]["problem"]
    assert code == 1 and said in problem and "s3cret" not in problem and report["connect"] == ""


def test_settings_with_which_no_server_starts_are_wrong(team: Path) -> None:
    """Nobody would be authenticated; an identity provider that does not answer, unless it is not to be asked."""
    code, report = doctor(team, SERVER.partition("[auth]")[0], "--offline")
    assert code == 1 and "is not a loopback address, and callers would not" in found(report, "FAILED")[0]
    provider = SERVER.replace('tokens_file = "tokens.csv"', 'issuer = "https://127.0.0.1:1/realm"')
    code, report = doctor(team, provider)
    assert code == 1 and "the identity provider cannot be asked now" in found(report, "FAILED")[0]
    assert doctor(team, provider, "--offline")[0] == 0


def test_a_table_for_a_toolset_that_does_not_exist_ends_the_start(team: Path) -> None:
    """It would give its callers nothing; one that exists and is off is no mistake."""
    table = '[[access]]\ntoolsets = ["%s"]\n'
    (team / "server.toml").write_text(SERVER + table % "cod")
    for command in ("doctor", "serve"):
        done = commands.run(command, "--config", "server.toml", folder=team, environment=commands.BARE)
        assert done.returncode == 1 and "unknown toolset `cod` in [[access]]; there is: code" in done.stderr
    assert doctor(team, SERVER + table % "kubectl", "--offline")[0] == 0


ROLE = [
    {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]},
    {"apiGroups": [""], "resources": ["groups"], "verbs": ["impersonate"], "resourceNames": ["team:platform"]},
]
IMPERSONATING = 'acts_as = "impersonate"\n' + SERVER.replace('"tokens.csv"', '"tokens.csv"\ntoken_review = true')
NAMES = '[impersonation]\nuser_prefix = "team:"\ngroup_prefix = "team:"\ngroups = ["platform"%s]\n'


def test_the_rights_to_impersonate_and_to_review_tokens_are_asked_for(team: Path, scratch: ControlPlane) -> None:
    """Those that lack are named, and no right to read is missed: scripts run with their callers' rights."""
    user = f"server-{secrets.token_hex(4)}"
    kubeconfig = ("--kubeconfig", str(scratch.kubeconfig_for(user)))
    code, report = doctor(team, IMPERSONATING + NAMES % "", *kubeconfig)
    problem = report["contexts"][0]["answer"]["problem"]
    missing = (
        'create tokenreviews.authentication.k8s.io, impersonate groups "team:platform", impersonate users "team:ann"'
    )
    assert code == 1 and problem.startswith(f"RBAC does not let {user} {missing}; bind the role of docs/deploy.md")
    bind(scratch, user, ROLE, "system:auth-delegator")
    code, report = doctor(team, IMPERSONATING + NAMES % "", *kubeconfig)
    assert (code, report["contexts"][0]["answer"]["warnings"]) == (0, []), report["contexts"]
    code, report = doctor(team, IMPERSONATING + NAMES % ', "payments"', *kubeconfig)
    assert code == 1 and '"team:payments"' in report["contexts"][0]["answer"]["problem"]


def test_rights_with_which_rbac_is_no_wall_are_warned_of(team: Path, scratch: ControlPlane) -> None:
    """system:masters, everything on everything, and any group; the exit code stays 0."""
    user = f"server-{secrets.token_hex(4)}"
    kubeconfig = ("--kubeconfig", str(scratch.kubeconfig_for(user)))
    settings = 'acts_as = "impersonate"\n' + SERVER + NAMES % ""
    bind(scratch, user, [{"apiGroups": [""], "resources": ["users", "groups"], "verbs": ["impersonate"]}])
    assert warned(doctor(team, settings, *kubeconfig)).startswith("the user may impersonate any group, system:masters")
    bind(scratch, user, [], "cluster-admin")
    assert warned(doctor(team, settings, *kubeconfig)).startswith("the user may do everything (* on *)")
    assert warned(doctor(team, settings, "--kubeconfig", str(scratch.kubeconfig))).startswith(
        "the user is in system:masters"
    )


def warned(outcome: tuple[int, Any]) -> str:
    """The only warning about the cluster's rights, where nothing is wrong."""
    code, report = outcome
    (warning,) = report["contexts"][0]["answer"]["warnings"]
    assert code == 0 and isinstance(warning, str)
    return warning


def bind(plane: ControlPlane, user: str, rules: list[dict[str, Any]], *roles: str) -> None:
    """Gives a user a role with these rules, and roles that exist."""
    group = "rbac.authorization.k8s.io"
    objects: list[dict[str, Any]] = []
    if rules:
        meta = {"name": user}
        objects.append({"apiVersion": f"{group}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules})
        roles = (user, *roles)
    for role in roles:
        objects.append({
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{user}-{role.replace(':', '-')}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        })  # fmt: skip
    Writer(plane.kubeconfig).create_all([[each] for each in objects])


class _Exchanging(http.server.BaseHTTPRequestHandler):
    """A token endpoint; `answers` are those to the next requests, each a status and a document."""

    answers: ClassVar[list[tuple[int, dict[str, Any]]]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        status, document = self.answers.pop(0)
        self.send_response(status)
        self.end_headers()
        self.wfile.write(json.dumps(document).encode())

    def log_message(self, *_: object) -> None:
        """Prints nothing."""


EXCHANGE: Final = """
[auth.exchange]
url = "http://{host}/token"
client_id = "kubescript"
client_secret_file = "secret"
[contexts.prod]
audience = "prod"
[contexts.backup]
audience = "prod"
[contexts.lab]
"""


def test_clusters_that_get_no_token_or_another_clusters_are_named(team: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And an endpoint that exchanges tokens is asked whether it takes the server's client; after a failure too."""
    monkeypatch.chdir(team)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Exchanging) as provider:
        threading.Thread(target=provider.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

        def examine(host: str, *answers: tuple[int, dict[str, Any]]) -> list[tuple[str, str]]:
            _Exchanging.answers.extend(answers)
            (team / "server.toml").write_text('acts_as = "caller"\n' + SERVER + TLS + EXCHANGE.format(host=host))
            settings = config.load({"port": 8443}, team / "server.toml")
            with contextlib.closing(sources.open_fleet(settings)) as found:
                audiences = list(caller_tokens.examine_audiences(settings, directory.Directory(settings, found)))
            return [(each.mark, each.text) for each in (*serving.examine(settings, offline=False), *audiences)]

        here = f"127.0.0.1:{provider.server_port}"
        refused = examine(here, (401, {"error": "invalid_client"}))
        assert (
            "FAILED",
            f"http://{here}/token refuses auth.exchange.client_id, its secret or the audience prod (invalid_client)",
        ) in refused
        careless = examine(here, (200, {"access_token": "x"}))
        assert ("FAILED", f"http://{here}/token exchanges a made-up token: it would let everybody in") in careless
        bare = examine("id.example.com")
        assert (
            "http://id.example.com/token has no TLS: tokens and auth.exchange's secret can be read"
            in dict(bare)["FAILED"]
        )
        good = examine(here, (400, {"error": "invalid_request"}))
        provider.shutdown()
    assert ("ok", f"http://{here}/token answers") in good and "FAILED" not in dict(good)
    warnings = [text for mark, text in good if mark == "WARNING"]
    assert "no caller's token is sent to lab, which have no audience" in warnings
    assert any(text.startswith("prod, backup take the same tokens (audience prod)") for text in warnings)
