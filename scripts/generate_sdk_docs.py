"""Writes sdk_docs/: one page per API client from operations.json, an index, and the topics below. Run at development
time.

python scripts/generate_sdk_docs.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from kubescript.sdk import helptext, tables

DOCS = Path(__file__).resolve().parent.parent / "sdk_docs"
HEADER = "<!-- Written by scripts/generate_sdk_docs.py; edit that, not this. -->\n"
COMMON = ("pretty", "watch", "allow_watch_bookmarks", "send_initial_events", "shard_selector")
"""Parameters left out of the pages: ignored, refused with a hint, or of use to watchers only."""

OBJECTS = """
# Objects

An answer is a view over the API server's JSON. All of these are the same field:

```python
pod.status.pod_ip          # the official client's name
pod.status.podIP           # the name in the JSON
pod["status"]["podIP"]     # as a mapping, either name
pod.status.get("podIP")    # with a default for absent fields
```

- A field the kind has but this object lacks reads as `None`; a list or map field as an empty one, so loops need no
guard.
- A name the kind does not have raises `AttributeError` (`KeyError` for items) with the nearest right name.
- Custom resources have no model: an absent field raises and says so; `.get(name)` gives `None`. Their metadata is
typed.
- Timestamps are aware datetimes by snake_case attribute (`pod.metadata.creation_timestamp`), JSON text by any other
access.
- Quantities and int-or-string values stay as JSON has them; `kubernetes.utils.parse_quantity("500m")` gives a Decimal.
- Views can be written: `deployment.spec.replicas = 3`, `pod.metadata.labels["a"] = "b"`, `del`, `append`; then
`replace_…(body=…)`.
- `from`, `continue`, `except`, `not`, `exec` are Python words: write `from_` or the official `_from`.
- A field called `items`, `values` or `keys` is the field; called with `()` it is the dict method.
- `to_dict()` gives a plain dict with snake_case keys and datetimes; absent fields are left out but read as `None`. Of
an object from `k8s.get`, `k8s.dynamic()` or `k8s.customObjects()` it is the JSON, without managedFields. Either way
`[…]`, `.get`, `in`, `pop` and `setdefault` take both spellings.
- A field that is in another part of the object is named in the error: `V1ObjectMeta has no field 'nodeName'; it is in
spec`.
"""

LISTS = """
# Lists

`pods = k8s.coreV1().list_namespaced_pod("shop")` is a sequence: loop over `pods` or `pods.items`, `len(pods)`,
`pods[0]`, `pods[:10]`. `pods.metadata.resource_version`, `._continue` and `.remaining_item_count` are as officially.

The body is cut into items while it arrives and each is decoded when it is touched, so one unpaged list of thousands of
objects is the fastest way to read them. Use `limit=` and `_continue=` only to bound memory. An error in the middle of a
body is raised by the loop that reads it.
"""

ERRORS = """
# Errors

```python
from kubernetes.client.exceptions import ApiException
try:
    pod = k8s.coreV1().read_namespaced_pod("web", "shop")
except ApiException as error:
    error.status, error.reason, error.message, error.body, error.headers
```

`NotFoundException`, `ForbiddenException`, `ConflictException`, `UnauthorizedException`, `BadRequestException`,
`UnprocessableEntityException` and `ServiceException` are subclasses. When kubescript itself refuses a call (policy),
`status` is 403, `body` is a Status object as JSON text and `code` names the rule; when no API server answered,
`status` is 0. `LimitExceeded` means that a
budget is used up. A wrong or missing argument is a `TypeError`, a wrong name an `AttributeError`; both name the right
one.
"""

DYNAMIC = """
# Any kind

```python
k8s.get("certificates.cert-manager.io", namespace="shop")              # as kubectl names it
k8s.dynamic().resource("apps/v1", "deployments").get(name="web", namespace="shop")
k8s.dynamic().resources.get(api_version="v1", kind="Pod").get(label_selector="app=web")
k8s.discovery().api_resources(group="cert-manager.io")                 # name, kind, namespaced, verbs, shortNames
k8s.customObjects().list_namespaced_custom_object("cert-manager.io", "v1", "shop", "certificates")
```

A resource has `get`, `list`, `create`, `replace`, `patch`, `delete`, `watch`, and its subresources as attributes
(`.scale.get(…)`). `k8s.metricsV1beta1()` reads metrics-server: `list_node_metrics()`,
`list_namespaced_pod_metrics("shop")`.
"""

DIFFERENCES = """
# Differences from the official client

| Official | Here |
| --- | --- |
| `config.load_kube_config()` | accepted, does nothing: the server is connected |
| methods and parameters in snake_case | any case, with or without underscores |
| absent list or map is `None` | an empty list or map |
| `to_dict()` is full of `None` | absent fields are left out, and still read as `None` |
| unknown fields of a newer API server are lost | readable by name |
| `_request_timeout`, `pretty` | ignored |
| `async_req`, `_preload_content=False`, `_headers`, `_host_index`, `_request_auth` | refused |
| `_content_type` | accepted for PATCH only |
| `watch=True` | use `watch.Watch().stream(method, …)`; ends after 5 seconds unless `timeout_seconds` says otherwise |
| `list_…` answers are models | sequences, lazily decoded |
| `datetime`, `timedelta`, `timezone`, `parse_quantity`, `ApiException` are imported | there without an import |
| `client.ApiClient`, `client.Configuration` | stand-ins: accept any setting, make no call |
| `stream`, `informer`, `leaderelection`, `aio` | not there |
"""

TOPICS = {"objects": OBJECTS, "lists": LISTS, "errors": ERRORS, "dynamic": DYNAMIC, "differences": DIFFERENCES}


def file_name(api: str) -> str:
    """CoreV1Api is core_v1.md."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", api.removesuffix("Api")).lower() + ".md"


def client_page(api: str) -> str:
    """One API class: each method with its request."""
    lines = [f"{HEADER}# {api}", "", f"`k8s.{helptext.accessor(api)}()`", ""]
    for name in tables.operations(api):
        operation = tables.operation(api, name)
        optional = [each for each in operation.parameters[operation.required :] if each not in COMMON]
        lines.append(
            f"- **{name}**({', '.join(operation.parameters[: operation.required])})"
            f" → {operation.returns or 'text'}: `{operation.verb} {operation.path}`"
        )
        if operation.body not in ("", "object"):
            lines.append(f"  body: {operation.body}")
        if optional:
            lines.append(f"  optional: {', '.join(optional)}")
    return "\n".join(lines) + "\n"


def index_page() -> str:
    """Topics and clients."""
    topics = "\n".join(
        f"- [{text.strip().splitlines()[0].removeprefix('# ')}]({name}.md)" for name, text in TOPICS.items()
    )
    clients = "\n".join(f"- [{api}]({file_name(api)}): `k8s.{helptext.accessor(api)}()`" for api in tables.apis())
    return (
        f"{HEADER}# The script SDK\n\n```text\n{helptext.k8s()}\n```\n\n## Topics\n{topics}\n\n## Clients\n{clients}\n"
    )


def pages() -> dict[str, str]:
    """Every page by file name."""
    topics = {f"{name}.md": HEADER + text.lstrip() for name, text in TOPICS.items()}
    clients = {file_name(api): client_page(api) for api in tables.apis()}
    if clash := topics.keys() & clients.keys():
        raise SystemExit(f"a topic and a client share a page: {sorted(clash)}")
    return {"index.md": index_page(), **topics, **clients}


def main() -> int:
    """Write the pages, or with --check say whether they are up to date."""
    parser = argparse.ArgumentParser(description="Write sdk_docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    wanted = pages()
    if parser.parse_args().check:
        return int({path.name: path.read_text() for path in DOCS.glob("*.md")} != wanted)
    for path in DOCS.glob("*.md"):
        if path.name not in wanted and path.read_text().startswith(HEADER):
            path.unlink()
    for name, text in wanted.items():
        (DOCS / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
