"""Command lines of openstackclient that try to get past its walls: the list of reads, the reduced options, the gate for
requests, the settings of one caller.
"""

from __future__ import annotations

import http.server
import itertools
import json
import shlex
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.kit.openstack import build, services
from tests.kit.openstack.client import Client
from tests.kit.openstack.services import Services
from tests.kit.openstack.warm import Answer

SECRETS: Final = (build.PASSWORD, services.MEMBER, services.READER, services.APPLICATION["secret"])

OPTIONS: Final = """
--os-password=x project list
--os-password x project list
--os-pass=x project list
--os-p x project list
--os project list
--o=x project list
project list --os-password=x
project list --os-password x --os-password y
project list -- --os-password=x
project list '--os-password=x y'
project list "--os-password" x
'--os-pass''word=x' project list
--os_password=x project list
--os-passcode=1 project list
--os-token x project list
--os-tok=x project list
--os-auth-url http://127.0.0.1:1 project list
--os-auth-u=http://127.0.0.1:1 project list
--os-auth-type none project list
--os-cloud other project list
project list --os-clo other
--os-cacert /etc/passwd project list
--os-cert /etc/passwd --os-key /etc/passwd project list
--insecure project list
--ins project list
--in project list
--verify project list
--os-endpoint http://127.0.0.1:1 --os-token x project list
--os-endpoint-override http://127.0.0.1:1 project list
--os-username admin project list
--os-user-id x project list
--os-project-name admin project list
--os-project-id x project list
--os-tenant-name admin project list
--os-domain-name default project list
--os-system-scope all project list
--os-trust-id x project list
--os-default-domain x project list
--os-service-provider x project list
--os-remote-project-name x project list
--os-application-credential-secret x project list
--os-application-credential-id x project list
--os-access-token x project list
--os-client-secret x project list
--os-identity-provider x project list
--os-discovery-endpoint http://127.0.0.1:1 project list
--debug project list
--deb project list
--d project list
project list --debug
--log-file /tmp/x project list
--log-f=/tmp/x project list
--l /tmp/x project list
help --os-password x project list
--version --os-password=x
""".strip().splitlines()

NO_READS: Final = """
token issue
token revoke x
configuration show
configuration show --unmask
credential list
credential show x
ec2 credentials list
ec2 credentials create
console url show x
access token create
request token create
complete
complete --shell bash
image save debian --file /tmp/x
image save debian
image stage debian
object save container object --file -
container save container
object create container /etc/passwd
server ssh x
keypair create mine
cloud cache delete
application credential create more
mapping create --rules /etc/passwd x
policy create /etc/passwd
tok iss
conf sho
help token issue
token issue --help
""".strip().splitlines()

WRITES: Final = """
project create x
project delete shop
project set shop --disable
proj cre x
user create x
role add --user member --project shop admin
image create x
image delete debian
image set debian --private
image add project till laboratory
resource provider create x
resource provider delete x
server create --flavor 1 --image debian x
server delete x
server start x
console log show x
network create x
quota set shop --cores 1
project cleanup --auto-approve --project shop
endpoint delete x
help project create
project create --help
""".strip().splitlines()

FILES: Final = """
image create x --file /etc/passwd
image create x --fil=/etc/passwd
image create x --sign-key-path /etc/passwd --sign-cert-id x
server create x --flavor 1 --image debian --user-data /etc/passwd
server create x --flavor 1 --image debian --file /a=/etc/passwd
server create x --flavor 1 --block-device /etc/passwd
server rebuild x --user-data=/etc/passwd
identity provider create x --remote-id-file /etc/passwd
identity provider set x --remote-id-f /etc/passwd
mapping set x --rules /etc/passwd
policy set x --rules /etc/passwd
endpoint group set x --filters /etc/passwd
user create x --password-prompt
""".strip().splitlines()


def check_refused(lines: Iterable[str], why: str, clouds: str, openstack_command: Client) -> None:
    """Fails unless each line is refused for this reason, whatever is allowed, and the next one works."""
    for line in lines:
        answer = openstack_command(line, clouds, allow_write=True, allowed=line.split())
        assert (answer.code, answer.out) == (3, ""), (line, answer)
        assert why in answer.err, line
    assert openstack_command("project list", clouds).code == 0


@pytest.mark.promise("X-11")
def test_a_global_option_that_is_the_operators_is_refused_in_every_spelling(
    openstack: Services, openstack_command: Client
) -> None:
    """An option that is the operator's is refused abbreviated, joined, quoted, twice, behind `--` and behind the command."""
    check_refused(OPTIONS, "leave it out", openstack.clouds("admin"), openstack_command)


@pytest.mark.promise("X-12")
def test_commands_that_give_credentials_or_use_files_are_refused_whatever_is_allowed(
    openstack: Services, openstack_command: Client
) -> None:
    """What gives a credential, uses a file or opens a terminal is refused with every setting."""
    check_refused(NO_READS, "no setting allows", openstack.clouds("admin"), openstack_command)


@pytest.mark.promise("X-11")
def test_options_that_name_a_file_are_refused_with_writes_too(openstack: Services, openstack_command: Client) -> None:
    """An option of a command that names a file of the server is refused with every setting."""
    clouds = openstack.clouds("admin")
    for line in FILES:
        answer = openstack_command(line, clouds, allow_write=True, allowed=line.split())
        assert (answer.code, answer.out) == (3, ""), (line, answer)
        assert "names a file of the server or asks at its terminal" in answer.err, line


@pytest.mark.promise("X-12")
def test_writes_are_refused_by_name(openstack: Services, openstack_command: Client) -> None:
    """A write is refused by its name, abbreviated or asked for help, and nothing is changed."""
    clouds = openstack.clouds("admin")
    before = openstack_command("project list", clouds).out
    for line in WRITES:
        answer = openstack_command(line, clouds)
        assert (answer.code, answer.out) == (3, ""), (line, answer)
        assert "it is a write, and this server only reads" in answer.err, line
    assert openstack_command("project list", clouds).out == before


@pytest.mark.promise("X-12")
def test_writes_are_done_where_the_operator_allows_them(openstack: Services, openstack_command: Client) -> None:
    """Where the operator allows writes, they are done."""
    clouds = openstack.clouds("admin")
    created = openstack_command("project create made-by-a-test -f value -c name", clouds, allow_write=True)
    assert (created.code, created.out) == (0, "made-by-a-test\n")
    assert openstack_command("project show made-by-a-test", clouds).code == 0
    assert openstack_command("project delete made-by-a-test", clouds, allow_write=True).code == 0
    assert openstack_command("project show made-by-a-test", clouds).code == 1
    empty = "image create made-by-a-test --container-format bare --disk-format raw -f value -c status"
    assert openstack_command(empty, clouds, allow_write=True).out == "queued\n"  # nothing was read from stdin
    assert openstack_command("image delete made-by-a-test", clouds, allow_write=True).code == 0


@pytest.mark.promise("X-13")
@pytest.mark.parametrize(
    ("line", "method"),
    [
        ("project create x", "POST"),
        ("project delete shop laboratory", "DELETE"),
        ("project set shop --disable", "PATCH"),
        ("role add --user member --project shop admin", "PUT"),
        ("image delete debian cirros", "DELETE"),
        ("image set debian --private", "PATCH"),
        ("resource provider create x", "POST"),
        ("resource class create CUSTOM_X", "POST"),
    ],
)
def test_no_write_leaves_where_the_list_of_reads_is_wrong(
    line: str, method: str, openstack: Services, openstack_command: Client
) -> None:
    """A write that is on the list of reads by mistake reaches no service."""
    clouds = openstack.clouds("admin")
    sent = writes(openstack)
    answer = openstack_command(line, clouds, allowed=line.split())
    assert answer.code == 3
    assert f"a {method} request was refused: this server only reads" in answer.err
    assert writes(openstack) == sent
    assert openstack_command("image show debian -f value -c visibility", clouds).out == "public\n"


def writes(cloud: Services) -> list[str]:
    """The requests other than reads and logins that have arrived at the services."""
    lines = [line for name in ("keystone", "glance", "placement") for line in cloud.log(name).splitlines()]
    methods = ('"POST ', '"PUT ', '"PATCH ', '"DELETE ')
    return [line for line in lines if any(method in line for method in methods) and "/auth/tokens" not in line]


class Stranger(http.server.BaseHTTPRequestHandler):
    """A host that should never hear of us; it sends its callers on to where they should not go."""

    heard: Final[list[tuple[str, str | None]]] = []
    forward = ""

    def do_GET(self) -> None:
        self.heard.append((self.path, self.headers.get("X-Auth-Token")))
        self.send_response(302 if self.forward else 200)
        if self.forward:
            self.send_header("Location", self.forward)
        self.end_headers()

    do_POST = do_GET  # noqa: N815 - http.server names it

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def stranger() -> Iterator[str]:
    """The address of a host that is in no catalog."""
    Stranger.heard.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.promise("X-13")
def test_a_redirect_leads_to_no_other_host(openstack: Services, openstack_command: Client, stranger: str) -> None:
    """Where the answers of the auth_url point to another host, that host is not asked."""
    inner = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Sender", (Stranger,), {"forward": stranger, "heard": []})
    )
    thread = threading.Thread(target=inner.serve_forever)
    thread.start()
    try:
        settings = json.loads(openstack.clouds("admin"))
        settings["clouds"]["test"]["auth"]["auth_url"] = f"http://127.0.0.1:{inner.server_port}/v3"
        answer = openstack_command("project list", json.dumps(settings))
    finally:
        inner.shutdown()
        thread.join()
        inner.server_close()
    assert answer.code == 3
    assert "neither the cloud's auth_url nor in its catalog" in answer.err
    assert Stranger.heard == []


@pytest.mark.promise("X-13")
def test_an_endpoint_outside_the_catalog_gets_no_token(
    openstack: Services, openstack_command: Client, stranger: str
) -> None:
    """No argument makes a command ask a host that is not in the catalog."""
    lines = (
        ["--os-region-name", stranger, "image", "list"],
        ["--os-image-api-version", stranger, "image", "list"],
        ["image", "show", stranger],
        ["image", "show", f"@{stranger.removeprefix('http://')}/x"],
        ["image", "list", "--marker", f"x#@{stranger}"],
        ["project", "show", f"{stranger}/v3/projects/x"],
        ["resource", "provider", "show", f"{stranger}/x"],
    )
    for line in lines:
        openstack_command(line, openstack.clouds("admin"))
    assert Stranger.heard == []


CLIMBING: Final = (
    ["image", "show", "../../v3/credentials/x"],
    ["image", "show", "%2e%2e/%2E./v3/credentials/x"],
    ["image", "show", "%252e%252e/x"],
    ["project", "show", "x/../../credentials"],
    ["project", "show", ".."],
    ["image", "member", "list", "..\\..\\x"],
    ["user", "list", "--project=../x"],
    ["--", "image", "show", "a/.."],
)
"""Where services share a host, one service's command would read another one's secrets."""


@pytest.mark.promise("X-13")
def test_no_argument_climbs_out_of_its_path(openstack: Services, openstack_command: Client) -> None:
    """An argument that climbs out of the path it is put into is refused."""
    for line in CLIMBING:
        for allow_write in (False, True):
            answer = openstack_command(line, openstack.clouds("admin"), allow_write=allow_write)
            assert (answer.code, answer.out) == (3, ""), line
            assert "path" in answer.err, line
    assert "/credentials" not in openstack.log("keystone") + openstack.log("glance")
    dotted = openstack_command(["image", "show", "a..b...c"], openstack.clouds("admin"))
    assert (dotted.code, "a..b...c" in dotted.err) == (1, True)


BRACES: Final = (
    ["--os-region-name", "{auth[password]}", "image", "list"],
    ["--os-region-name={auth}", "project", "list"],
    ["--os-reg", "{auth[password]}", "image", "list"],
    ["image", "list", "--os-image-api-version", "{auth[password]}"],
    ["--os-compute-api-version={auth[password]}", "server", "list"],
    ["--os-placement-api-version", "{auth[password]}", "resource", "provider", "list"],
    ["--os-share-api-version={auth[password]}", "share", "list"],
    ["--os-interface={auth[password]}", "project", "list"],
)


@pytest.mark.promise("X-14")
def test_the_value_of_an_option_is_no_template_of_the_clouds_settings(
    openstack: Services, openstack_command: Client
) -> None:
    """The value of an option is no template into which the cloud's settings are put."""
    settings = json.loads(openstack.clouds("admin"))
    del settings["clouds"]["test"]["region_name"]  # else no region but this one is taken
    for line in BRACES:
        answer = openstack_command(line, json.dumps(settings))
        assert answer.code, line
        assert_no_secret(answer)


NOISY: Final = """
-v project list
-vvv project list
-v -v -v -v project show shop
--verbose --verbose --verbose image list
--timing project list
project show nobody
image show nothing
--os-identity-api-version 2 project list
--os-identity-api-version 9 project list
--os-image-api-version 9 image list
--os-region-name Nowhere image list
--os-interface admin versions show
server list
volume list
network list
container list
share list
project list --sort-column
project list --max-width -1
project list --max-width 99999999999999999999
image list --limit -5
image list --limit x
image list --property x
image show ''
project list --domain {auth[password]}
role assignment list --user {0.__class__}
help help
help nothing at all
module list --all
""".strip().splitlines()


@pytest.mark.promise("X-14")
def test_nothing_shows_a_credential_or_a_traceback(openstack: Services, openstack_command: Client) -> None:
    """Failures, floods of --verbose and broken settings show neither a credential nor a traceback."""
    users = itertools.cycle([openstack.clouds("member"), openstack.application_clouds()])
    for line, clouds in zip(NOISY, users, strict=False):
        assert_no_secret(openstack_command(line, clouds))
    broken = ("", "]", "clouds: 5", "clouds: {test: 7}", "clouds: {test: {auth: {auth_url: 5}}}", "clouds: {other: {}}")
    for clouds in (*broken, openstack.clouds("admin").replace(build.PASSWORD, "wrong-password")):
        answer = openstack_command("project list", clouds)
        assert answer.code, clouds
        assert "wrong-password" not in answer.err
        assert_no_secret(answer)
    loud = json.loads(openstack.clouds("admin"))
    loud["clouds"]["test"] |= {"debug": True, "verbose_level": 3, "logging": {"keystoneauth": "debug"}}
    answer = openstack_command("project show nobody", json.dumps(loud))
    assert answer.code == 1
    assert_no_secret(answer)


def assert_no_secret(answer: Answer) -> None:
    """No credential of the tests, no token, no traceback and no file of ours is in what was printed."""
    told = answer.out + answer.err
    assert "Traceback" not in told, told
    assert 'File "/' not in told, told
    assert "gAAAA" not in told, told  # a token of Keystone
    for secret in SECRETS:
        assert secret not in told, told


@pytest.mark.promise("X-15")
def test_the_settings_are_those_of_the_call_and_no_others(
    openstack: Services, openstack_command: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clouds.yaml in the folder, at home or named by the environment would be another caller's, and is not read."""
    (tmp_path / ".config" / "openstack").mkdir(parents=True)
    for folder in (tmp_path, tmp_path / ".config" / "openstack"):
        (folder / "clouds.yaml").write_text(openstack.clouds("admin"), "utf-8")
        (folder / "secure.yaml").write_text(openstack.clouds("admin"), "utf-8")
        (folder / "clouds-public.yaml").write_text(
            openstack.clouds("admin").replace("clouds", "public-clouds"), "utf-8"
        )
    monkeypatch.chdir(tmp_path)
    settings = {
        "HOME": str(tmp_path),
        "OS_CLIENT_CONFIG_FILE": str(tmp_path / "clouds.yaml"),
        "OS_CLOUD": "test",
        "OS_AUTH_URL": openstack.auth_url,
        "OS_USERNAME": "admin",
        "OS_PASSWORD": build.PASSWORD,
        "OS_PROJECT_NAME": "admin",
        "OS_TOKEN": "x",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with Client("ours", environment=settings, folder=tmp_path) as client:
        without = json.loads(openstack.clouds("reader"))
        del without["clouds"]["test"]["auth"]["password"]
        assert client("project list", json.dumps(without)).code == 1
        profile = json.dumps({"clouds": {"test": {"profile": "test"}}})
        assert client("project list", profile).code == 1
        answer = client("image list -f value -c Name", openstack.clouds("reader"))
        assert (answer.code, answer.out.split()) == (0, ["cirros", "debian", "till"])


@pytest.mark.promise("X-12")
@pytest.mark.parametrize("line", ["", " ", "-v", "--timing", "--os-region-name RegionOne"])
def test_there_is_no_interactive_mode(line: str, openstack: Services, openstack_command: Client) -> None:
    """A command line without a command is refused."""
    answer = openstack_command(shlex.split(line), openstack.clouds("admin"))
    assert (answer.code, answer.out) == (3, "")
    assert "no command was named" in answer.err
