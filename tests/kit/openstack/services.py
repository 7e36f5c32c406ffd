"""Keystone, Glance and Placement, running: real processes with data of their own.

with services.Services() as cloud:
    cloud.clouds("admin")      the text of a clouds.yaml
    cloud.token("reader")      a token of that user
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kubescript_safety.controlplane import child, server, startable
from tests.kit.openstack import build, configuration

__all__ = ["APPLICATION", "MEMBER", "READER", "Response", "Services"]

START_SECONDS: Final = 120
MEMBER: Final = "member-password-of-the-tests"
READER: Final = "reader-password-of-the-tests"
APPLICATION: Final = {"name": "robot", "secret": "application-secret-of-the-tests"}
USERS: Final = {
    "admin": (build.PASSWORD, "admin"),
    "member": (MEMBER, "shop"),
    "reader": (READER, "shop"),
}
"""Name -> password and project."""
_direct: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Response:
    """What a service answered."""

    status: int
    headers: Mapping[str, str]
    body: Any


class Services(startable.Startable):
    """The three services on free ports, with a copy of the prepared data, which is removed at the end."""

    def __init__(self, folder: Path | None = None) -> None:
        """`folder` is data to be used as it is, without a copy: for who prepares it."""
        self._folder = folder or Path(tempfile.mkdtemp(prefix="kubescript-openstack-"))
        self._own = folder is None
        self._children: list[child.Child] = []
        self.ports = {name: server.free_port() for name in configuration.NAMES}

    @property
    def auth_url(self) -> str:
        """The address of Keystone."""
        return f"{self.url('keystone')}/v3"

    def url(self, name: str) -> str:
        """The address of a service."""
        return f"http://127.0.0.1:{self.ports[name]}"

    def clouds(self, user: str, *, project: str = "", region: str = "RegionOne") -> str:
        """A clouds.yaml with one cloud, `test`, for one of USERS."""
        password, usual = USERS[user]
        domains = {"user_domain_id": "default", "project_domain_id": "default"}
        auth = {"auth_url": self.auth_url, "username": user, "password": password, "project_name": project or usual}
        return json.dumps({"clouds": {"test": {"auth": {**auth, **domains}, "region_name": region}}})

    def application_clouds(self) -> str:
        """A clouds.yaml with one cloud, `test`, for the application credential of the member."""
        auth = {
            "auth_url": self.auth_url,
            "application_credential_name": APPLICATION["name"],
            "application_credential_secret": APPLICATION["secret"],
            "username": "member",
            "user_domain_id": "default",
        }
        cloud = {"auth_type": "v3applicationcredential", "auth": auth, "region_name": "RegionOne"}
        return json.dumps({"clouds": {"test": cloud}})

    def token_clouds(self, token: str, project: str) -> str:
        """A clouds.yaml with one cloud, `test`, for a token."""
        auth = {"auth_url": self.auth_url, "token": token, "project_name": project, "project_domain_id": "default"}
        return json.dumps({"clouds": {"test": {"auth_type": "v3token", "auth": auth, "region_name": "RegionOne"}}})

    def token(self, user: str) -> str:
        """A new token of one of USERS, in the user's project."""
        password, project = USERS[user]
        domain = {"id": "default"}
        identity = {
            "methods": ["password"],
            "password": {"user": {"name": user, "password": password, "domain": domain}},
        }
        scope = {"project": {"name": project, "domain": domain}}
        asked = {"auth": {"identity": identity, "scope": scope}}
        return self.ask("keystone", "POST", "/v3/auth/tokens", "", asked).headers["X-Subject-Token"]

    def ask(
        self,
        service: str,
        method: str,
        path: str,
        token: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """One request; `body` is bytes, or data that is sent as JSON. Raises HTTPError for an answer from 400 on."""
        sent = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        told = {"Content-Type": "application/json", "X-Auth-Token": token, **(headers or {})}
        request = urllib.request.Request(self.url(service) + path, sent, told, method=method)
        with _direct.open(request, timeout=60) as answer:
            text = answer.read()
            return Response(answer.status, dict(answer.headers), json.loads(text) if text else None)

    def start(self) -> None:
        """Start the services; returns when all three answer."""
        environment = build.environment()
        if self._own:
            shutil.copytree(build.template(), self._folder, dirs_exist_ok=True)
        configuration.write(self._folder, self.ports, build.PASSWORD, environment)
        self._point_endpoints()
        serve = str(Path(__file__).parent / "serve.py")
        for name, port in self.ports.items():
            command = [build.python(), serve, name, str(self._folder), str(port)]
            self._children.append(child.Child(command, self._folder / f"{name}.log"))
        for process in self._children:
            process.start()
        for name, process in zip(self.ports, self._children, strict=True):
            self._wait(name, process)

    def close(self) -> None:
        """End the services."""
        for process in self._children:
            process.close()
        self._children = []
        if self._own:
            shutil.rmtree(self._folder, ignore_errors=True)

    def log(self, name: str) -> str:
        """Everything a service has printed, with a line for each request."""
        return (self._folder / f"{name}.log").read_text("utf-8", "replace")

    def _point_endpoints(self) -> None:
        """Write this run's ports into the catalog."""
        with sqlite3.connect(self._folder / "keystone.db") as database:
            for kind, name, path in (
                ("identity", "keystone", "/v3"),
                ("image", "glance", ""),
                ("placement", "placement", ""),
            ):
                services = "SELECT id FROM service WHERE type = ?"
                url = self.url(name) + path
                database.execute(f"UPDATE endpoint SET url = ? WHERE service_id IN ({services})", (url, kind))
        database.close()

    def _wait(self, name: str, process: child.Child) -> None:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                _direct.open(self.url(name), timeout=30).close()
            except urllib.error.HTTPError:
                return  # 300 Multiple Choices is an answer
            except OSError:
                if process.pid is None or time.monotonic() > deadline:
                    raise RuntimeError(process.tail()) from None
                time.sleep(0.05)
            else:
                return
