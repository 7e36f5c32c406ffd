"""What is in the test cloud: two projects, three users, an application credential, images and resource providers."""

from __future__ import annotations

from typing import Any

from tests.kit.openstack import services

__all__ = ["plant"]

PLACEMENT = {"OpenStack-API-Version": "placement 1.39"}


def plant(cloud: services.Services) -> None:
    """Make it all, by the services' own APIs."""
    admin = cloud.token("admin")
    projects = _people(cloud, admin)
    _catalog(cloud, admin)
    application = {**services.APPLICATION, "roles": [{"name": "member"}]}
    member = cloud.token("member")
    me = cloud.ask("keystone", "GET", "/v3/auth/tokens", member, headers={"X-Subject-Token": member}).body["token"]
    path = f"/v3/users/{me['user']['id']}/application_credentials"
    cloud.ask("keystone", "POST", path, member, {"application_credential": application})
    _images(cloud, admin, projects["shop"])
    _resources(cloud, admin)


def _people(cloud: services.Services, admin: str) -> dict[str, str]:
    def make(kind: str, **fields: Any) -> str:
        made = cloud.ask("keystone", "POST", f"/v3/{kind}s", admin, {kind: fields}).body
        return str(made[kind]["id"])

    projects = {name: make("project", name=name, description=f"The {name}") for name in ("shop", "laboratory")}
    roles = {role["name"]: role["id"] for role in cloud.ask("keystone", "GET", "/v3/roles", admin).body["roles"]}
    users = {
        "member": make("user", name="member", password=services.MEMBER, email="member@example.com"),
        "reader": make("user", name="reader", password=services.READER),
    }
    for name, user in users.items():
        cloud.ask("keystone", "PUT", f"/v3/projects/{projects['shop']}/users/{user}/roles/{roles[name]}", admin)
    everybody = make("group", name="everybody", description="Who works here")
    cloud.ask("keystone", "PUT", f"/v3/groups/{everybody}/users/{users['member']}", admin)
    return projects


def _catalog(cloud: services.Services, admin: str) -> None:
    for kind, name in (("image", "glance"), ("placement", "placement")):
        made = cloud.ask("keystone", "POST", "/v3/services", admin, {"service": {"type": kind, "name": name}}).body
        for interface in ("public", "internal", "admin"):
            endpoint = {"service_id": made["service"]["id"], "interface": interface, "region_id": "RegionOne"}
            cloud.ask("keystone", "POST", "/v3/endpoints", admin, {"endpoint": {**endpoint, "url": cloud.url(name)}})


def _images(cloud: services.Services, admin: str, shop: str) -> None:
    for name, visibility, owner in (("debian", "public", None), ("cirros", "public", None), ("till", "private", shop)):
        fields = {"name": name, "disk_format": "raw", "container_format": "bare", "visibility": visibility}
        fields |= {"owner": owner} if owner else {}
        made = cloud.ask("glance", "POST", "/v2/images", admin, {**fields, "os_distro": name, "tags": ["test"]}).body
        binary = {"Content-Type": "application/octet-stream"}
        cloud.ask("glance", "PUT", f"/v2/images/{made['id']}/file", admin, name.encode() * 100, binary)


def _resources(cloud: services.Services, admin: str) -> None:
    for number in (1, 2):
        fields = {"name": f"compute-{number}"}
        made = cloud.ask("placement", "POST", "/resource_providers", admin, fields, PLACEMENT).body
        path = f"/resource_providers/{made['uuid']}"
        inventories = {"VCPU": {"total": 8 * number}, "MEMORY_MB": {"total": 4096 * number, "reserved": 512}}
        sent = {"resource_provider_generation": 0, "inventories": inventories}
        cloud.ask("placement", "PUT", f"{path}/inventories", admin, sent, PLACEMENT)
        traits = {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_AVX2"]}
        cloud.ask("placement", "PUT", f"{path}/traits", admin, traits, PLACEMENT)
