"""What openstackclient reads for a caller is, byte for byte, what the plain command prints.

The plain answers come from openstackclient's own main function, in forks of one process that has imported it; two of them are compared with a cold `openstack` process too, so that the forks are known to be honest. Compared
are the exit code, stdout and stderr; only the numbers of requests, which differ each time, are made equal.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kubescript.commands import microversions
from tests.kit.openstack.client import Client
from tests.kit.openstack.services import Services
from tests.kit.openstack.warm import Answer

READS: Final = """
project list
project list --format json
project list -f csv --quote none
project list -f value -c Name
project list --long --sort-column Name
project show shop
project show shop -f shell
project show shop -f yaml
user list --format json
user list --project shop --sort-column Name
user show member -f json
group list
group show everybody -f value
group contains user everybody member
role list -f csv
role show member
role assignment list --names
role assignment list --names --project shop -f json
domain list -f yaml
domain show default
region list
region show RegionOne -f json
service list
service list --long -f json
service show keystone
endpoint list -f json
endpoint list --service image -f csv
catalog list
catalog list -f yaml
catalog show placement
application credential list
limit list
registered limit list -f json
policy list
mapping list
identity provider list
trust list
access rule list
consumer list
image list
image list --long -f json
image list --sort name:desc -f value
image list --tag test --limit 1 -f csv
image show debian
image show cirros -f json
image show cirros -f value -c checksum -c size
image import info
image stores list
image member list till
resource provider list
resource provider list -f json --sort-column name
resource class list -f value
versions show
versions show --service placement -f json
command list
module list
image list --os-image-api-version 2
--os-identity-api-version 3 project list
proj li
-v project show shop
-q user list
--os-interface internal catalog show image
help project list
project list --help
--version
project show nobody
image show nothing
project list --nonsense
project list extra words
role assignment list --user
--os-region-name Nowhere image list
server list
limits show --absolute
""".strip().splitlines()

CHANGING: Final = re.compile(r"req-[0-9a-f-]{36}")
"""The number of a request, which is in messages about failures."""

COLD: Final = ("project list", "image show nothing")


@pytest.fixture(scope="module")
def plain() -> Iterator[Client]:
    """openstackclient without anything of ours."""
    with Client("plain") as client:
        yield client


def comparable(answer: Answer) -> tuple[int, str, str]:
    """The exit code and both texts."""
    return answer.code, CHANGING.sub("req-N", answer.out), CHANGING.sub("req-N", answer.err)


@pytest.mark.parametrize("line", READS)
def test_a_read_answers_as_the_plain_command_does(
    line: str, openstack: Services, openstack_command: Client, plain: Client
) -> None:
    clouds = openstack.clouds("admin")
    ours, theirs = openstack_command(line, clouds), plain(line, clouds)
    assert comparable(ours) == comparable(theirs)
    assert ours.out or ours.err


@pytest.mark.parametrize("line", COLD)
def test_the_forks_that_are_compared_with_answer_as_a_cold_process_does(
    line: str, openstack: Services, openstack_command: Client, plain: Client, tmp_path: Path
) -> None:
    clouds = tmp_path / "clouds.yaml"
    clouds.write_text(openstack.clouds("admin"), "utf-8")
    settings = {"OS_CLIENT_CONFIG_FILE": str(clouds), "OS_CLOUD": "test", "LC_ALL": "C.UTF-8"}
    command = [str(Path(sys.executable).with_name("openstack")), *line.split()]
    done = subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True)
    cold = (done.returncode, CHANGING.sub("req-N", done.stdout), CHANGING.sub("req-N", done.stderr))
    assert cold == comparable(plain(line, openstack.clouds("admin")))
    assert cold == comparable(openstack_command(line, openstack.clouds("admin")))


def test_each_user_sees_what_is_the_users(openstack: Services, openstack_command: Client) -> None:
    names = {
        "admin": openstack_command("image list -f value -c Name", openstack.clouds("admin")),
        "reader": openstack_command("image list -f value -c Name", openstack.clouds("reader")),
        "application": openstack_command("image list -f value -c Name", openstack.application_clouds()),
        "elsewhere": openstack_command("project list", openstack.clouds("reader", project="laboratory")),
    }
    assert names["reader"].out.split() == names["application"].out.split() == ["cirros", "debian", "till"]
    assert names["admin"].code == 0
    assert names["elsewhere"].code == 1
    assert "401" in names["elsewhere"].err


def test_a_token_serves_as_a_credential(openstack: Services, openstack_command: Client) -> None:
    token = openstack.token("member")
    answer = openstack_command("project list --my-projects -f value -c Name", openstack.token_clouds(token, "shop"))
    assert (answer.code, answer.out) == (0, "shop\n")


def test_a_secret_may_stand_in_the_second_file(openstack: Services, openstack_command: Client) -> None:
    whole = json.loads(openstack.clouds("admin"))
    password = whole["clouds"]["test"]["auth"].pop("password")
    secure = json.dumps({"clouds": {"test": {"auth": {"password": password}}}})
    assert openstack_command("project list", json.dumps(whole), secure=secure).code == 0
    assert openstack_command("project list", json.dumps(whole)).code == 1


def test_microversions_are_those_of_the_cloud_unless_a_caller_names_one(
    openstack: Services, openstack_command: Client
) -> None:
    clouds = openstack.clouds("admin")
    found = microversions.parse(openstack_command(list(microversions.COMMAND), clouds).out)
    assert found == {"os_placement_api_version": "1.39"}
    resources = "allocation candidate list --resource VCPU=1 -f json"
    assert openstack_command(resources, clouds, microversions=found).code == 0
    old = {"os_placement_api_version": "1.2"}
    assert openstack_command(resources, clouds, microversions=old).code == 1  # the client asks for 1.10
    named = f"--os-placement-api-version 1.2 {resources}"
    assert openstack_command(named, clouds, microversions=found).code == 1
    newer = {"os_placement_api_version": "1.99", "os_nothing_api_version": "1.1"}
    assert openstack_command(resources, clouds, microversions=newer).code == 0


def test_microversions_are_read_from_a_table() -> None:
    def row(service: str, most: str | None, status: str = "CURRENT", region: str = "One") -> dict[str, str | None]:
        return {"Region Name": region, "Service Type": service, "Status": status, "Max Microversion": most}

    table = [
        row("compute", "2.100"),
        row("compute", "2.96", region="Two"),
        row("compute", None, "SUPPORTED"),
        row("block-storage", "3.71"),
        row("identity", "3.14"),
        row("key-manager", "1.1"),
        row("image", None),
        row("telescope", "1.1"),
    ]
    expected = {"os_compute_api_version": "2.96", "os_volume_api_version": "3.71"}
    assert microversions.parse(json.dumps(table)) == expected
    for nonsense in ("", "null", "[1]", "no versions"):
        with pytest.raises(ValueError, match="no table"):
            microversions.parse(nonsense)


def test_what_is_listed_can_be_run(openstack: Services, openstack_command: Client) -> None:
    clouds = openstack.clouds("admin")
    listed = openstack_command("help", clouds)
    assert (listed.code, openstack_command("--help", clouds).out) == (0, listed.out)
    assert "  project list  " in listed.out
    assert "  project create  " not in listed.out
    assert "--os-password" not in listed.out
    assert "  project create  " in openstack_command("help", clouds, allow_write=True).out
    unknown = openstack_command("prject list", clouds)
    assert unknown.code == 2
    assert "is not an openstack command" in unknown.out
    assert openstack_command([], clouds).code == 3
