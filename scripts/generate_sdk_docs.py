"""Writes sdk_docs/: one page per API client from operations.json, an index, and the topics below. Run at development
time.

python scripts/generate_sdk_docs.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from kubescript.worker.sdk import helptext, operations

DOCS = Path(__file__).resolve().parent.parent / "sdk_docs"
HEADER = "<!-- Written by scripts/generate_sdk_docs.py; edit that, not this. -->\n"
COMMON = ("pretty", "watch", "allow_watch_bookmarks", "send_initial_events", "shard_selector")
"""Parameters left out of the pages: ignored, refused with a hint, or of use to watchers only."""
REFUSED = ("connect_", "log_file_")
"""Methods that no setting allows, by how their names begin."""
NOTES = {
    "CoreV1Api": """\
- exec, attach, portforward and proxy (the methods `connect_…`) are refused, whatever the settings say. Read the logs,
the status and the events instead.
- Secrets are denied unless the operator says otherwise. Their names and keys are visible in what refers to them: `env`
(`value_from.secret_key_ref`), `env_from`, `volumes`, `image_pull_secrets` of pods, `tls` of ingresses.
- Logs are not followed: `follow=True` is refused, and `watch.Watch().stream(k8s.coreV1().read_namespaced_pod_log, …)`
gives the lines that there are, then ends.
""",
    "LogsApi": """\
Refused, whatever the settings say: `/logs` are files of the API server's machine. A pod's log is
`k8s.coreV1().read_namespaced_pod_log(name, namespace, tail_lines=50)`.
""",
}

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
- Custom resources have no model: `x.field` is `None` where there is none, unless it looks like a slip of the pen;
  `x["field"]` raises, and `hasattr` tells. Their metadata is
typed.
- Timestamps are aware datetimes by snake_case attribute (`pod.metadata.creation_timestamp`), JSON text by any other
access.
- Quantities and int-or-string values stay as JSON has them; `quantity("500m")` is 0.5, and
`kubernetes.utils.parse_quantity("500m")` a Decimal.
- Of a whole object, `.name`, `.namespace`, `.labels` and `.annotations` are its metadata's, and `.raw` is the object.
- `hasattr(pod.status, "pod_ip")` is true for every field the kind has, whether this object has it or not, and false for
a name it does not have; `getattr(x, "y", None)` likewise. `"podIP" in pod.status` asks whether this object has it.
- Views can be written: `deployment.spec.replicas = 3`, `pod.metadata.labels["a"] = "b"`, `del`, `append`; then
`replace_…(body=…)`.
- `from`, `continue`, `except`, `not`, `exec` are Python words: write `from_` or the official `_from`.
- A field called `items`, `values` or `keys` is the field; called with `()` it is the dict method.
- `to_dict()` gives a plain dict with snake_case keys and datetimes; absent fields are left out but read as `None`. Of
an object from `k8s.get`, `k8s.dynamic()` or `k8s.customObjects()` it is the JSON, without managedFields. Either way
`[…]`, `.get`, `in`, `pop` and `setdefault` take both spellings.
- `json.dumps(obj)` writes the names of the JSON, at every depth; `default=str` is asked for datetimes only.
- `f"{x:<20}"` aligns what has no formats of its own as its text: `None`, lists, objects, datetimes without a `%`.
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

HELPERS = """
# Helpers

There without an import, and as attributes of `k8s`.

```python
quantity("250m")                    # 0.25, an exact number; "1Gi" is 1073741824; None and "" are 0
age(pod)                            # time since creation; a timedelta that prints, formats and returns as 3d4h
age(pod.status.start_time)          # of a datetime or ISO text too; None is zero and prints <unknown>
age(cert.status.get("notAfter"))    # what lies ahead is negative: -12d
table(pods)                         # namespace, name, status, age, as kubectl prints them
table(rows, ["name", "count"])      # dicts, tuples, dataclasses, objects; columns are names or paths
table(pods, {"pod": "metadata.name", "cpu": lambda p: quantity(p.spec.containers[0].resources.requests.get("cpu"))})
table(rows, tsv=True)               # tab-separated
top(deployments, "spec.replicas")   # the ten highest, highest first; top(rows, key, n, reverse=True) the lowest
top(Counter(p.spec.node_name for p in pods), 3)
```

- What `quantity` gives adds to and compares with int, float and Decimal, sums, sorts and formats without rounding
  errors: ten times `"100m"` is 1, and a float counts as it prints. Beside a Decimal the result is a Decimal. It is
  returned as a plain number.
- A cell is one line: lists are joined with commas, what is missing or empty is `-`. No rows give `(no rows)`.
- A key or column that no row has raises `KeyError` with the nearest name; one that some rows lack is `-`, and last.
- Texts that are all quantities are ranked by their value: `"9"` before `"250m"`.

# What there is

`help(k8s)`, `help(k8s.coreV1())`, `help(k8s.coreV1().list_namespaced_pod)`, `dir(...)` in a few lines each.
`k8s.explain("deployment.spec.strategy")` tells a field's type, meaning and parts from the cluster's own OpenAPI, custom
resources too; a snapshot has none, so there it tells types only. `help("deployment.spec")` prints the same.
`k8s.search("token review")` finds methods and kinds by words of their names, in any order and spelling.
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

CONTEXTS = """
# Several clusters

```python
{name: len(k8s.context(name).coreV1().list_node()) for name in k8s.contexts()}
```

`k8s.contexts()` gives the names a script may use, the default one first; with one cluster just its own.
`k8s.context(name)` has everything `k8s` has and asks that cluster; `k8s.name` says which it is. An unknown name is a
`ValueError` that names the nearest. Each cluster has its own policy, and its own faults: catch `ApiException` per
cluster, its text names the context. A cluster that does not begin to answer in time is such a fault too.

As officially: `config.list_kube_config_contexts()`, `config.load_kube_config(context=name)` for what is made
afterwards, `client.CoreV1Api(api_client=config.new_client_from_config(context=name))`.
"""

DIFFERENCES = """
# Differences from the official client

| Official | Here |
| --- | --- |
| `config.load_kube_config(context=name)` | chooses among `k8s.contexts()`; reads nothing, the server is connected |
| methods and parameters in snake_case | any case, with or without underscores |
| absent list or map is `None` | an empty list or map, of which `is None` is true |
| `to_dict()` is full of `None` | absent fields are left out, and still read as `None` |
| unknown fields of a newer API server are lost | readable by name |
| `_request_timeout`, `pretty` | ignored |
| `_preload_content=False` | an answer with `.data`, `.status`, `.headers`, `.json()` and lines to loop over |
| `async_req=True` | works; `.get()` waits for the answer |
| `_headers`, `_host_index`, `_request_auth` | refused |
| optional parameters by their place | by name only: the second place is `pretty`, not a selector |
| `_content_type` | accepted for PATCH only |
| `watch=True` | use `watch.Watch().stream(method, …)`; ends after `timeout_seconds`, or 5, and before the script does |
| `list_…` answers are models | sequences, lazily decoded |
| `client`, `config`, `watch`, `datetime`, `parse_quantity`, `ApiException`, … are imported | there without an import |
| `client.ApiClient`, `client.Configuration` | stand-ins: accept any setting, carry the context, make no call |
| `utils.create_from_yaml` | not there: no files and no YAML; `utils.create_from_dict(None, manifest)` is |
| dynamic `get(header_params=…)` | `Accept` may ask for `PartialObjectMetadata`; other headers are refused |
| a 404 names nothing | its text names similar objects, from one list of names that is asked for when it is read |
| `connect_…` (exec, attach, portforward, proxy), `LogsApi` | refused, whatever the settings say |
| Secrets are read as RBAC permits | denied unless the operator says otherwise; what refers to them has names and keys |
| logs are followed | `follow=True` is refused; `watch.Watch().stream(api.read_namespaced_pod_log, …)` gives the lines \
there are, then ends |
| `stream`, `informer`, `leaderelection`, `aio` | not there |
"""

TOPICS = {
    "helpers": HELPERS,
    "objects": OBJECTS,
    "lists": LISTS,
    "errors": ERRORS,
    "dynamic": DYNAMIC,
    "contexts": CONTEXTS,
    "differences": DIFFERENCES,
}


def file_name(api: str) -> str:
    """CoreV1Api is core_v1.md."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", api.removesuffix("Api")).lower() + ".md"


def client_page(api: str) -> str:
    """One API class: each method that can work, with its request."""
    lines = [f"{HEADER}# {api}", "", f"`k8s.{helptext.accessor(api)}()`", "", *filter(None, [NOTES.get(api, "")])]
    for name in (each for each in operations.operations(api) if not each.startswith(REFUSED)):
        operation = operations.operation(api, name)
        optional = [each for each in operation.parameters[operation.required :] if each not in COMMON]
        lines.append(
            f"- **{name}**({', '.join(operation.parameters[: operation.required])})"
            f" → {operation.returns or 'text'}: `{operation.verb} {operation.path}`"
        )
        if operation.body not in ("", "object"):
            lines.append(f"  body: {operation.body}")
        if optional:
            lines.append(f"  optional: {', '.join(optional)}")
    return "\n".join(lines).rstrip("\n") + "\n"


def index_page() -> str:
    """Topics and clients."""
    topics = "\n".join(
        f"- [{text.strip().splitlines()[0].removeprefix('# ')}]({name}.md)" for name, text in TOPICS.items()
    )
    clients = "\n".join(f"- [{api}]({file_name(api)}): `k8s.{helptext.accessor(api)}()`" for api in operations.apis())
    return (
        f"{HEADER}# The script SDK\n\n```text\n{helptext.k8s()}\n```\n\n## Topics\n{topics}\n\n## Clients\n{clients}\n"
    )


def pages() -> dict[str, str]:
    """Every page by file name."""
    topics = {f"{name}.md": HEADER + text.lstrip() for name, text in TOPICS.items()}
    clients = {file_name(api): client_page(api) for api in operations.apis()}
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
