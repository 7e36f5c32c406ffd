"""Writes sdk_docs/: one page per API client from operations.json, an index, and the topics below. Run at development
time.

python scripts/generate_sdk_docs.py [--check]
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

from kubescript.guest.sdk.objects import helptext
from kubescript.guest.sdk.values import operations

DOCS = Path(__file__).resolve().parent.parent / "sdk_docs"
HEADER = "<!-- Written by scripts/generate_sdk_docs.py; edit that, not this. -->\n"
COMMON = ("pretty", "watch", "allow_watch_bookmarks", "send_initial_events", "shard_selector")
"""Parameters left out of the pages: ignored, refused with a hint, or of use to watchers only."""
REFUSED = (
    *("connect_", "delete_collection_", "log_file_", "create_namespaced_binding", "create_namespaced_pod_binding"),
    *("create_namespaced_service_account_token", "replace_namespace_finalize"),
)
"""Methods that no setting allows, by the beginning of their names."""
COLLECTIONS = "The methods `delete_collection_…` are refused under any settings: delete each object by its name.\n"
NOTES = {
    "CoreV1Api": """\
- exec, attach, portforward and proxy (the methods `connect_…`) are refused under any settings. Read the logs, the
  status and the events instead. So are bindings, tokens of service accounts and `replace_namespace_finalize`.
- Secrets are served as metadata unless the operator says otherwise: get, list and watch give `.metadata` (name,
  namespace, labels, annotations, owners, times), and any other field raises an `ApiException`. A field selector may
  name `type`. Names of keys are visible in what refers to a Secret: `env` (`value_from.secret_key_ref`), `env_from`
  and `volumes` of pods.
- Logs cannot be followed: `follow=True` is refused. `watch.Watch().stream(k8s.coreV1().read_namespaced_pod_log, …)`
  gives the lines that exist now, then ends.
""",
    "LogsApi": """\
Refused under any settings: `/logs` are files of the API server's machine. To read a pod's log, call
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

- A field that the kind defines but this object lacks reads as `None`. A missing list or map reads as an empty one, so
  loops need no guard.
- A name that the kind does not define raises `AttributeError` (`KeyError` for `x["name"]`); the error names the nearest
  field, or the part of the object that has it: `V1ObjectMeta has no field 'nodeName'; it is in spec`.
- Custom resources have no model. `x.field` is `None` when the object lacks it, unless the name looks like a misspelling
  of a field that is there. `x["field"]` raises `KeyError`, and `hasattr(x, "field")` is false. Their metadata has a
  model.
- A snake_case attribute gives a time as an aware datetime (`pod.metadata.creation_timestamp`); any other access gives
  the JSON text.
- Quantities and int-or-string values stay as they are in the JSON: `quantity("500m")` and
  `kubernetes.utils.parse_quantity("500m")` turn them into numbers.
- On a whole object, `.name`, `.namespace`, `.labels` and `.annotations` read its metadata; `.raw` is the object.
- `hasattr(pod.status, "pod_ip")` asks whether the kind defines the field; `"podIP" in pod.status` asks whether this
  object has it. `getattr(x, "y", None)` gives the default only for names that the kind does not define.
- Objects can be changed: `deployment.spec.replicas = 3`, `pod.metadata.labels["a"] = "b"`, `del`, `append`; then call
  `replace_…(body=…)`.
- `from`, `continue`, `except`, `not` and `exec` are Python words: write `from_`, or `_from` as in the official client.
- `x.items`, `x.values` and `x.keys` are the fields of that name if the object has them; `x.items()` is the dict method.
- `to_dict()` gives a plain dict with snake_case keys and datetimes. Absent fields are left out, but read as `None`. For
  an object from `k8s.get`, `k8s.dynamic()` or `k8s.customObjects()` it gives the JSON without managedFields. In both,
  `[…]`, `.get`, `in`, `pop` and `setdefault` take either spelling.
- `json.dumps(obj)` writes the names of the JSON at every depth, and calls `default` only for datetimes.
- `f"{x:<20}"` aligns `None`, lists, objects, and datetimes (without a `%` in the format) by their text.
"""

LISTS = """
# Lists

`pods = k8s.coreV1().list_namespaced_pod("shop")` is a sequence: loop over `pods` or `pods.items`, `len(pods)`,
`pods[0]`, `pods[:10]`. `pods.metadata` has `resource_version`, `_continue` and `remaining_item_count`, as in the
official client.

The answer is split into items while it arrives, and an item is decoded when the script touches it. So one list without
pages is the fastest way to read thousands of objects; use `limit=` and `_continue=` only to bound memory. If the answer
breaks off in the middle, the loop that reads it raises the error.

Where the operator has limited the caller to some namespaces, a list over all namespaces has their objects, in the order
of the namespaces. It costs one call for each, eight at a time. `limit=` has no effect on it, it has no `_continue` and
no `resource_version`, and `continue` or a watch over all namespaces is refused.
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
`UnprocessableEntityException` and `ServiceException` are subclasses.

- When kubescript's own policy refuses a call, `status` is 403, `body` is a Status object as JSON text, and `code` names
  the rule. `hint` is then the `kubectl` command of a refused write, for the user; it never has the values of a Secret.
- When no API server answered, `status` is 0.
- `LimitExceeded` means that a budget is used up.
- A wrong or missing argument is a `TypeError`, a wrong name an `AttributeError`; the message names the right one.
"""

HELPERS = """
# Helpers

These need no import; they are also attributes of `k8s`.

```python
quantity("250m")                    # 0.25, an exact number; "1Gi" is 1073741824; None and "" are 0
age(pod)                            # time since creation; a timedelta that prints, formats and returns as 3d4h
age(pod.status.start_time)          # also of a datetime or ISO text; age(None) is zero and prints <unknown>
age(cert.status.get("notAfter"))    # a time in the future is negative: -12d
table(pods)                         # namespace, name, status and age, as kubectl prints them
table(rows, ["name", "count"])      # rows are dicts, tuples, dataclasses or objects; columns are names or paths
table(pods, {"pod": "metadata.name", "cpu": lambda p: quantity(p.spec.containers[0].resources.requests.get("cpu"))})
table(rows, tsv=True)               # tab-separated
table(rows, width=0)                # cells are cut at 60 characters, in the last column at 120; 0 means no limit
top(deployments, "spec.replicas")   # the ten greatest, greatest first; top(rows, key, n, reverse=True): the smallest
top(Counter(p.spec.node_name for p in pods), 3)
```

- What `quantity` gives adds to and compares with int, float and Decimal, and sums, sorts and formats without rounding
  errors: ten times `"100m"` is 1, and a float counts as the decimal number that it prints as. Beside a Decimal the
  result is a Decimal. It is returned as a plain number.
- A cell is one line: the items of a list are joined with commas, and a missing or empty value is `-`. Without rows,
  `table` gives `(no rows)`.
- A key or column that no row has raises `KeyError`, which names the nearest one. Where only some rows lack it, `table`
  shows `-` and `top` puts them last.
- `top` compares texts that are all quantities by their value: `"9"` comes before `"250m"`.

# Finding methods and fields

- `help(k8s)`, `help(k8s.coreV1())`, `help(k8s.coreV1().list_namespaced_pod)` and `dir(...)` give a few lines each.
- `k8s.explain("deployment.spec.strategy")` gives a field's type, meaning and parts from the cluster's own OpenAPI, also
  for custom resources. A snapshot has no OpenAPI, so there it gives types only. `help("deployment.spec")` prints the
  same.
- `k8s.search("token review")` finds methods and kinds by words of their names, in any order and spelling.

# Tools

What the tools of the toolsets `kubectl` and `cluster` do is here too, whether or not the server offers those toolsets.
Helm's releases are served only where the toolset `helm` is on, and writes only where writes are.

```python
k8s.tools.kubectl_top_pods(all_namespaces=True)   # a tool's text or data; its arguments in snake_case
k8s.describe(pod)                                 # what kubectl describe tells, with events
k8s.helm.releases()                               # also status(name, namespace), values(...), history(...)
```

`dir(k8s.tools)` lists the tools, `help(k8s.tools.kubectl_get)` gives the arguments of one.
"""

DYNAMIC = """
# Any kind

```python
k8s.get("certificates.cert-manager.io", namespace="shop")              # as kubectl names it
k8s.dynamic().resource("apps/v1", "deployments").get(name="web", namespace="shop")
k8s.dynamic().resources.get(api_version="v1", kind="Pod").get(label_selector="app=web")
k8s.discovery().api_resources(group="cert-manager.io")                 # name, kind, namespaced, verbs, shortNames
k8s.customObjects().list_namespaced_custom_object("cert-manager.io", "v1", "shop", "certificates")
k8s.get("/apis/apps/v1/namespaces/shop/deployments?limit=5")           # a path, as kubectl get --raw
```

A resource has `get`, `list`, `create`, `replace`, `patch`, `delete`, `watch`, and its subresources as attributes
(`.scale.get(…)`). `k8s.metricsV1beta1()` reads metrics-server: `list_node_metrics()`,
`list_namespaced_pod_metrics("shop")`. Custom and external metrics are read by their paths:

```python
k8s.get("/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/http_requests?labelSelector=app=web")
k8s.get("/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue_length")
```

Each item has `describedObject`, `metric` and `timestamp` (an external one `metricName`, `metricLabels`), and `value`, a
quantity. `k8s.get("/apis/custom.metrics.k8s.io/v1beta2").resources` lists the metrics' names if the adapter does.

# Nodes

Where the operator permits it:

```python
k8s.node_logs("node-0", tail=50)                                       # the kubelet's log, as text
k8s.node_logs("node-0", "containerd", since="1h", pattern="(?i)error")
k8s.node_summary("node-0").node.fs.availableBytes                      # also .memory, .cpu, .pods, as kubelets say it
```

The second argument is the name of a service; files cannot be read. `since` (a datetime, ISO text, `"1h"` or seconds)
and `pattern` choose among the log's last 10,000 lines, and the last `tail` of these are returned.
"""

WRITES = """
# Writes

A server refuses writes unless its operator permits them. All methods of the official client work then; these need less:

```python
k8s.scale(deployment, 3)                                       # or k8s.scale("deployments/web", 3, namespace="shop")
k8s.restart(deployment)                                        # as kubectl rollout restart
k8s.set_image(deployment, web="nginx:1.29")                    # by container; {"side-car": "envoy:2"} for any name
k8s.apply(manifest)                                            # server-side apply of a dict, or of each in a list
k8s.delete(pod)                                                # or k8s.delete("jobs/once", namespace="shop")
k8s.evict(pod)                                                 # asks the PodDisruptionBudgets
```

- Each takes an object that was read, or a name such as "deployments/web" with `namespace=`, and is one API call
  (`set_image` by a name is two). Each returns the API server's answer; `scale` returns the Scale.
- `apply` takes the fields that you want, not an object that was read. Its field manager is "kubescript"; `force=True`
  takes fields over from others.
- `delete` removes what the object owns in the background, as kubectl does; of an object that was read, it deletes this
  very one. `propagation_policy="Orphan"` and `grace_period_seconds=0` work as elsewhere.
- With several clusters, an object that was read in one of them is not taken for its namesake in another.

## Planned writes

Where writes need an approval, a script's writes are only tried (dry run) and written down. When the script has ended,
a person sees one plan of all of them, and they are sent after the approval. The script goes on as if they were made:

- The answer to a write is that of its dry run.
- Later reads of the script show what the plan would leave: single objects and lists, with selectors, counts and pages.
  What is created stands on the first page of a list, what is deleted or evicted is gone, and a scale changes
  `spec.replicas`. This holds for every way to read (`k8s.coreV1()`, `k8s.get`, the dynamic client), in the version of
  the API that the write used.
- What follows from a write is not there: no pods are made or end, no status changes, and nothing that is owned goes
  with its owner. Do not wait for it.
- Watches, logs, tables (`k8s.tools.kubectl_get`) and lists as raw text (`_preload_content=False`) show the cluster as
  it is.
- Each dry run begins with the live object. A second write to one object must change other fields, and an object that
  the plan creates cannot be changed by a further write: put all of it into the first.
- An object that the plan deletes can be created or applied anew under its name: when the old one is gone, the new one
  is made.
"""

CONTEXTS = """
# Several clusters

```python
{name: len(k8s.context(name).coreV1().list_node()) for name in k8s.contexts()}
```

`k8s.contexts()` gives the names that a script may use, the default one first; with one cluster, just that name.
`k8s.context(name)` has everything that `k8s` has, and asks that cluster; its `.name` says which cluster it is. An
unknown name is a `ValueError`, which names the nearest one; where clusters come and go, it is an `ApiException` of the
first call.

Clusters may have labels: `k8s.contexts("env=prod,region in (eu,us)")` (`label_selector`) gives those that a selector
selects, and `k8s.contexts(group="prod")` those of a selector that the operator has named. Ask many at a time:

```python
names = k8s.contexts(label_selector="env=prod")
found = k8s.parallel([lambda c=c: len(k8s.context(c).coreV1().list_node()) for c in names])
dict(zip(names, found))  # an ApiException in place of what a cluster has not answered
```

Each cluster has its own policy, and one of them may be down: catch `ApiException` for each cluster. Its text names the
context. A cluster that does not begin to answer in time raises it too.

The ways of the official client work as well: `config.list_kube_config_contexts()`,
`config.load_kube_config(context=name)` for clients that are made after it, and
`client.CoreV1Api(api_client=config.new_client_from_config(context=name))`.
"""

SOURCES = """
# Metrics, alerts, logs and traces

Where the operator has configured sources, scripts have globals for them: `prom` (Prometheus, or what answers its API),
`alertmanager`, `loki` and `tempo`, each the first one of its kind. `k8s.source("logs-eu")` is one by its name, and
`k8s.context(name).source("logs-eu")` that of another cluster. The pods that used most memory, and where they run:

```python
q = 'container_memory_working_set_bytes{namespace="shop", container!=""}'
used = prom.query_range(f"sum by (namespace, pod) ({q})", start="-6h", step="5m")
table([{"pod": s.labels["pod"], "node": s.pod() and s.pod().spec.node_name, "max": s.max} for s in top(used, 5)])
```

- Methods have the names and parameters of the server's HTTP API. `prom`: `query(q, time)`, `query_range(q, start, end,
  step)`, `series(match)`, `labels()`, `label_values(label, match)`, `rules(type)`, `alerts()`, `targets(state)`,
  `metadata(metric)`. `alertmanager`: `alerts(filter, active, silenced, inhibited, receiver)`, `silences(filter)`.
  `loki`: `query(q, time)`, `query_range(q, start, end, limit, direction)`, `labels()`, `label_values(label, query)`,
  `series(match)`. `tempo`: `search(q, start, end, limit)`, `trace(id)`.
- Times are datetimes (naive ones in UTC), ISO text, seconds since the epoch, or text such as `"-1h"`; steps are
  timedeltas, seconds, or text such as `"5m"`. Left out, a range is the last hour, in sixty steps.
- Answers are lists, without `data` and `result` around them. Alerts, silences, rules, targets and traces are objects
  with attributes, like those of the cluster: `alert.status.silencedBy`; `alert.starts_at` is a datetime, and
  `alert.startsAt` text. An alert or a rule prints as one line; results leave out `fingerprint`, `generatorURL` and
  `updatedAt`.
- A series has `.labels` (also `.metric`), `.values`, `.times`, `.value` (the last), `.first`, `.last`, `.min`, `.max`,
  `.avg`, `.delta` (last minus first) and `.rate` (that per second). A value is a number that knows its time,
  `s.max.time`, and reads as a pair too: `for t, v in s.values`. `.rate` and `.delta` know no resets: for counters write
  `rate(...)` and `increase(...)` in the query. Native histograms have no single value; ask for `histogram_quantile`.
- A stream of log lines has `.labels` (also `.stream`), `.lines`, and `.values`: pairs of nanoseconds and line.
- `.pod()` of a series, a stream, an alert or a target is the pod that its labels `namespace` and `pod` name now, and
  `.object()` whatever the labels name, such as a deployment or a claim; `None` if there is none. They list each
  namespace's objects of a kind once.
- `table(found)` shows the labels that differ, and of a range the lowest, highest, mean and last value; of streams, a
  row for each line; of alerts, name, severity, state, start and labels. `top(found, 5)` ranks by
  the last value. A result shows a series in the same way.
- A trace is a list of its spans, with `.service`, `.name`, `.duration_ms`, `.start`, `.attributes` and `.resource`;
  `.batches` has it as OTLP.
- A query that the server refuses raises `ApiException` with the server's message. So does one whose answer would have
  too many points; the query itself is not sent then. Values that look like secrets are masked, in labels and log lines
  too.
- A source that shows one namespace at a time says so: each call then needs `namespace="shop"`.
- In a snapshot, `prom` answers selectors of captured series, and captured expressions as they stand; `loki` answers
  selectors with filters of lines. An error names what was captured: read the series, and compute in the script.
"""
RUNBOOKS = """
# Runbooks

Scripts that people have reviewed, where the operator offers some:

```python
k8s.runbooks()                                              # [{"name": "restart-web", "description": …, …}]
k8s.runbook("restart-web", namespace="team-a", name="web")  # runs it, and returns the value of its last expression
```

- Arguments are given by name. One that is unknown, missing, of another type or outside of what the runbook says is
  refused, and nothing is run.
- It runs beside the script, with the same rights and the rest of the script's time and calls. What it prints is not
  shown. It cannot call another runbook.
- Its changes join those of the script; the script's later reads do not show them. A script that only calls one runbook
  has a plan that the operator may have approved in advance: then no person is asked. Any other change in the script
  makes it an ordinary plan.
- If it fails after it has tried changes, nothing of the script is planned, even if the script catches the error.
"""

DIFFERENCES = """
# Differences from the official client

| Official | Here |
| --- | --- |
| `config.load_kube_config(context=name)` | chooses one of `k8s.contexts()`; reads no file: the server is connected |
| methods and parameters in snake_case | any case, with or without underscores |
| absent list or map is `None` | an empty list or map; comparing it with `is None` gives true |
| `to_dict()` is full of `None` | absent fields are left out, and still read as `None` |
| unknown fields of a newer API server are lost | readable by name |
| `_request_timeout`, `pretty` | ignored |
| `_preload_content=False` | an answer with `.data`, `.status`, `.headers`, `.json()`; a loop over it gives lines |
| `async_req=True` | works; `.get()` waits for the answer |
| `_headers`, `_host_index`, `_request_auth` | refused |
| optional parameters by position | by name only (the official second position is `pretty`, not a selector) |
| `_content_type` | accepted for PATCH only |
| `watch=True` | use `watch.Watch().stream(method, …)`; it ends after `timeout_seconds` (5 by default), \
at the latest before the script does |
| `list_…` answers are models | sequences whose items are decoded when they are touched |
| `client`, `config`, `watch`, `datetime`, `parse_quantity`, `ApiException`, … are imported | no import needed |
| `client.ApiClient`, `client.Configuration` | stand-ins: they accept any setting, keep the context, and make no call |
| `utils.create_from_yaml` | not available (no files, no YAML); use `utils.create_from_dict(None, manifest)` |
| dynamic `get(header_params=…)` | `Accept` may ask for `PartialObjectMetadata`; other headers are refused |
| the text of a 404 names no other object | it names similar ones; reading the text costs one call that lists names |
| `connect_…` (exec, attach, portforward, proxy), `LogsApi` | refused under any settings |
| `delete_collection_…`, a deletion with a selector | refused under any settings: list, then delete each by its name |
| Secrets are read as RBAC permits | served as metadata: reading `.data` or `.type` raises an `ApiException` |
| logs are followed | `follow=True` is refused; `watch.Watch().stream(api.read_namespaced_pod_log, …)` gives the lines \
that exist now, then ends |
| `stream`, `informer`, `leaderelection`, `aio` | not available |
"""

TOPICS = {
    "helpers": HELPERS,
    "objects": OBJECTS,
    "lists": LISTS,
    "errors": ERRORS,
    "dynamic": DYNAMIC,
    "writes": WRITES,
    "contexts": CONTEXTS,
    "sources": SOURCES,
    "runbooks": RUNBOOKS,
    "differences": DIFFERENCES,
}


def file_name(api: str) -> str:
    """CoreV1Api is core_v1.md."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", api.removesuffix("Api"))
    return f"{words.lower()}.md"


def client_page(api: str) -> str:
    """One API class: each method that can work, with its request."""
    names = operations.operations(api)
    lines = [f"{HEADER}# {api}", "", f"`k8s.{helptext.accessor(api)}()`", ""]
    if api in NOTES:
        lines.append(NOTES[api])
    if any(name.startswith("delete_collection_") for name in names):
        lines.append(COLLECTIONS)
    for name in names:
        if name.startswith(REFUSED):
            continue
        operation = operations.operation(api, name)
        required = ", ".join(operation.parameters[: operation.required])
        optional = [each for each in operation.parameters[operation.required :] if each not in COMMON]
        request = f"`{operation.verb} {operation.path}`"
        lines.append(f"- **{name}**({required}) → {operation.returns or 'text'}: {request}")
        if operation.body not in ("", "object"):
            lines.append(f"  body: {operation.body}")
        if optional:
            lines.append(f"  optional: {', '.join(optional)}")
    return "\n".join(lines).rstrip("\n") + "\n"


def index_page() -> str:
    """Topics and clients."""
    lines = [f"{HEADER}# The script SDK", "", "```text", helptext.k8s(), "```", "", "## Topics"]
    for name, text in TOPICS.items():
        # A topic begins with its heading.
        heading, *_ = text.strip().splitlines()
        title = heading.removeprefix("# ")
        lines.append(f"- [{title}]({name}.md)")
    lines += ["", "## Clients"]
    for api in operations.apis():
        file = file_name(api)
        lines.append(f"- [{api}]({file}): `k8s.{helptext.accessor(api)}()`")
    return "\n".join(lines) + "\n"


def pages() -> dict[str, str]:
    """Every page by file name."""
    topics = {f"{name}.md": HEADER + text.lstrip() for name, text in TOPICS.items()}
    clients = {file_name(api): client_page(api) for api in operations.apis()}
    clash = topics.keys() & clients.keys()
    if clash:
        raise SystemExit(f"a topic and a client share a page: {sorted(clash)}")
    return {"index.md": index_page(), **topics, **clients}


def main() -> int:
    """Write the pages, or with --check say whether they are up to date."""
    parser = argparse.ArgumentParser(description="Write sdk_docs/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a page is out of date")
    wanted = pages()
    if parser.parse_args().check:
        known = {path.name: path.read_text() for path in DOCS.glob("*.md")}
        return int(known != wanted)
    # What is not ours is left alone.
    for path in DOCS.glob("*.md"):
        if path.name not in wanted and path.read_text().startswith(HEADER):
            path.unlink()
    for name, text in wanted.items():
        (DOCS / name).write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
