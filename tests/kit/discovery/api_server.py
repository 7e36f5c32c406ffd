"""An API server without objects that serves the recorded discovery of one version of Kubernetes."""

from __future__ import annotations

import contextlib
import http.server
import json
import threading
from collections.abc import Iterator
from typing import Any, Final

from tests.kit.discovery import recording

_NO_RESOURCE: Final = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": "the server could not find the requested resource",
    "reason": "NotFound",
    "details": {},
    "code": 404,
}


@contextlib.contextmanager
def serving(version: str) -> Iterator[str]:
    """Serves in a thread; gives the URL."""
    documents = _documents(version)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: the second of two would wait 40 ms for an acknowledgement

        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            found = documents.get(path)
            if found is not None:
                self._answer(200, json.dumps(found))
            elif _is_in_group(path, documents):
                self._answer(404, json.dumps(_NO_RESOURCE))
            else:
                self._answer(404, "404 page not found\n", "text/plain; charset=utf-8")

        def _answer(self, status: int, text: str, media: str = "application/json") -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", media)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Writes nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _is_in_group(path: str, documents: dict[str, Any]) -> bool:
    """Whether the path is below a group that is served; kube-apiserver answers for others in plain text."""
    return "/".join(path.split("/")[:3]) in documents


def _documents(version: str) -> dict[str, Any]:
    """Path ▶ the document there, as kube-apiserver writes it: versions, groups, resources, and an empty list of each."""
    served = recording.served(version)
    major, minor, _ = version.removeprefix("v").split(".")
    found: dict[str, Any] = {
        "/version": {"major": major, "minor": minor, "gitVersion": version, "platform": "linux/amd64"},
        "/api": {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []},
    }
    groups: dict[str, list[str]] = {}
    for group_version, entries in served.items():
        top = "/apis" if "/" in group_version else "/api"
        path = f"{top}/{group_version}"
        found[path] = {"kind": "APIResourceList", "groupVersion": group_version, "resources": entries}
        for entry in entries:
            if "list" in entry["verbs"]:
                kind = f"{entry['kind']}List"
                found[f"{path}/{entry['name']}"] = {
                    "kind": kind, "apiVersion": group_version, "metadata": {"resourceVersion": "1"}, "items": [],
                }  # fmt: skip
        if "/" in group_version:
            groups.setdefault(group_version.partition("/")[0], []).append(group_version)
    listed = [_group(name, versions) for name, versions in groups.items()]
    found["/apis"] = {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed}
    found |= {f"/apis/{group['name']}": {"kind": "APIGroup", "apiVersion": "v1", **group} for group in listed}
    return found


def _group(name: str, group_versions: list[str]) -> dict[str, Any]:
    versions = [{"groupVersion": each, "version": each.partition("/")[2]} for each in group_versions]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}
