"""Turns a Python call into a request: `list_namespaced_pod("shop", labelSelector="app=web")` becomes path, query and
body. methods.py and resources.py call `bind`.

Parameters are accepted in the official client's spelling and in camelCase. Every other argument is refused, and the
error names the right spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from kubescript.guest.sdk.objects import serialize
from kubescript.guest.sdk.values import names, operations, quantity_number
from kubescript.kube import metrics_apis
from kubescript.wire import exchanges
from kubescript.wire.exchanges import Call

__all__ = ["bind", "path_segments", "selector_text"]
ContentType = Literal["json", "json-patch", "merge-patch", "strategic-merge-patch", "apply-patch"]

# Options of the official client that do not change the answer's data. One of them is a timeout: the host itself limits
# the time of each call.
_IGNORED: Final = frozenset({"_request_timeout", "_return_http_data_only", "pretty", "_check_return_type"})
_HARMLESS_DEFAULTS: Final = {"async_req": (None, False), "_preload_content": (None, True), "watch": (None, False)}
_REFUSED: Final = {
    "async_req": "only k8s.coreV1() and its like take it; for several calls at once use k8s.parallel([...])",
    "_preload_content": "answers are lazy already; leave _preload_content out (obj.to_dict() gives plain data)",
    "_headers": "a script cannot set HTTP headers; leave _headers out",
    "_host_index": "there is one API server; leave _host_index out",
    "_request_auth": "the server holds the credentials; leave _request_auth out",
    "watch": "use watch.Watch().stream(k8s.coreV1().list_namespaced_pod, namespace=..., timeout_seconds=5)",
}
_SYNONYMS: Final = {
    **dict.fromkeys(("selector", "labels", "label", "l", "labelselectors", "matchlabels"), "label_selector"),
    **dict.fromkeys(("field", "fields", "fieldselectors", "filter"), "field_selector"),
    **dict.fromkeys(("ns", "namespaces", "project"), "namespace"),
    **dict.fromkeys(("pod", "podname", "deployment", "node", "nodename", "service", "id"), "name"),
    **dict.fromkeys(("tail", "lines", "taillines"), "tail_lines"),
    **dict.fromkeys(("since", "seconds"), "since_seconds"),
    **dict.fromkeys(("prev", "p"), "previous"),
    **dict.fromkeys(("containername", "c"), "container"),
    **dict.fromkeys(("max", "maxitems", "count"), "limit"),
    **dict.fromkeys(("timeout", "timeouts"), "timeout_seconds"),
    **dict.fromkeys(("data", "patch", "manifest", "spec", "obj"), "body"),
}
"""Maps folded names that scripts use to the parameter they mean."""
_EVERYWHERE: Final = ("all", "*", "-A", "--all-namespaces", "all-namespaces")
"""Values that scripts pass as a namespace when they mean all namespaces."""
_MEDIA: Final[dict[str, ContentType]] = {
    "application/json": "json",
    "application/json-patch+json": "json-patch",
    "application/merge-patch+json": "merge-patch",
    "application/strategic-merge-patch+json": "strategic-merge-patch",
    "application/apply-patch+yaml": "apply-patch",
}

_METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})


def bind(
    operation: operations.Operation, args: Sequence[Any], kwargs: Mapping[str, Any], *, watch: bool = False
) -> Call:
    """Returns the request for one method call. Raises TypeError, which names the right parameters."""
    values = _assign(operation, args, dict(kwargs))
    media = values.pop("_content_type", None)
    _require(operation, values)
    path = path_segments(operation, values)
    body = values.get("body") if operation.body else None
    if watch:
        values["watch"] = True
    return Call(
        method=_verb(operation),
        path=path,
        query=_query(operation, values),
        body=exchanges.NO_BODY if body is None else serialize.encode_body(body),
        content_type=_content_type(operation, body, media),
        accept="text" if operation.returns == "str" else "json",
    )


def _verb(operation: operations.Operation) -> Any:
    """Returns the HTTP method. Raises TypeError for HEAD and OPTIONS."""
    # Only proxies have HEAD and OPTIONS. No script may use a proxy, so the wire protocol does not define these verbs.
    if operation.verb in _METHODS:
        return operation.verb
    raise TypeError(f"{_title(operation)}: {operation.verb} requests to a proxy are not sent from here")


def _assign(operation: operations.Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the given values by their official parameter names."""
    # Optional arguments must be named: the next parameter by position is `pretty`, and a selector passed there would be
    # a filter without effect.
    if len(args) > operation.required:
        raise TypeError(_nameless(operation, args[operation.required :]))
    values: dict[str, Any] = dict(zip(operation.parameters, args, strict=False))
    spellings = {names.fold(name): name for name in operation.parameters}
    for given, value in kwargs.items():
        if _is_transport_option(operation, given, value):
            continue
        if given == "_content_type" or given in operation.parameters:
            name: str | None = given
        else:
            name = spellings.get(names.fold(given))
        # A selector that is dropped silently would also be a filter without effect.
        if name is None:
            raise TypeError(_unknown(operation, given))
        if name in values:
            raise TypeError(f"{_title(operation)} got {name!r} twice")
        values[name] = value
    required = operation.parameters[: operation.required]
    # As in the official client, an optional argument that is None counts as left out.
    return {name: value for name, value in values.items() if value is not None or name in required}


_OFTEN_MEANT: Final = ("label_selector", "field_selector", "container", "tail_lines", "body")
"""The parameters that scripts most often mean by an argument without a name, the most likely first."""


def _nameless(operation: operations.Operation, extra: Sequence[Any]) -> str:
    """Returns the error for arguments without a name after the required ones."""
    known = [each for each in _OFTEN_MEANT if each in operation.parameters]
    first = extra[0]
    if not known:
        instead = "name the others"
    elif isinstance(first, str):
        # A string is never a body.
        meant = "name" if known == ["body"] else known[0]
        instead = f"write {meant}={first!r}"
    else:
        assignments = [f"{each}=..." for each in known]
        instead = f"name the others: {', '.join(assignments)}"
    return f"{_title(operation)} takes {operation.required} arguments without a name; {instead}"


def _is_transport_option(operation: operations.Operation, given: str, value: Any) -> bool:
    """Says whether an argument is about HTTP rather than Kubernetes and has no effect here. Raises TypeError when it
    would have an effect."""
    if given in _IGNORED:
        return True
    if given not in _REFUSED:
        return False
    # `watch` is an option only of methods that have the parameter; for others it is an unknown name.
    if given == "watch" and given not in operation.parameters:
        return False
    harmless = _HARMLESS_DEFAULTS.get(given, (None,))
    if value not in harmless:
        raise TypeError(f"{given}: {_REFUSED[given]}")
    return True


def _unknown(operation: operations.Operation, given: str) -> str:
    """Returns the error for a parameter that the method does not have."""
    folded = names.fold(given)
    meant = _SYNONYMS.get(folded)
    if meant in operation.parameters:
        near = f"did you mean {meant!r}?"
    else:
        near = names.suggestion(given, operation.parameters, 30)
    about_namespace = "namespace" in (folded, meant)
    if not about_namespace or "namespace" in operation.parameters:
        return f"{_title(operation)} has no parameter {given!r}; {near}"
    # list_pod_for_all_namespaces and list_namespaced_pod are two methods: whoever passes a namespace means the other
    # one.
    kind_name = operation.name.replace("_for_all_namespaces", "")
    other = kind_name.replace("list_", "list_namespaced_")
    if other in operations.operations(operation.api):
        return f"{operation.name} reads all namespaces; for one use {other}(namespace=...)"
    return f"{operation.name} is not about a namespace; leave 'namespace' out"


def _require(operation: operations.Operation, values: dict[str, Any]) -> None:
    """Raises TypeError for a required argument that is missing or None."""
    needed = operation.parameters[: operation.required]
    missing = [name for name in needed if name not in values]
    if missing:
        quoted = ", ".join(map(repr, missing))
        hint = ""
        if missing == ["namespace"]:
            hint = _hint(operation, "namespace")
        raise TypeError(f"{_title(operation)} is missing {quoted}{hint}")
    without_body = "body" in needed and values["body"] is None
    if without_body:
        raise TypeError(f"{_title(operation)}: body must be an object, not None")


def path_segments(operation: operations.Operation, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the segments of the path, unquoted."""
    segments: list[str] = []
    is_list = operation.verb == "GET" and "name" not in values
    for part in operation.path.strip("/").split("/"):
        if not part.startswith("{"):
            segments.append(part)
            continue
        name = part[1:-1]
        value = values[name]
        # A namespace called "all" does not exist, so its list would be empty instead of complete.
        everywhere = is_list and name == "namespace" and value in _EVERYWHERE
        if not isinstance(value, str) or not value or everywhere:
            hint = _hint(operation, name)
            raise TypeError(f"{_title(operation)}: {name} must be one name, not {value!r}{hint}")
        # A proxied path is one parameter with several segments, and so is the metric of an object: `*/http_requests`.
        if name in ("path", "logpath") or values.get("group") in metrics_apis.GROUPS:
            segments.extend(value.strip("/").split("/"))
        else:
            segments.append(value)
    return tuple(segments)


def _hint(operation: operations.Operation, name: str) -> str:
    """Returns how to read all namespaces, when `name` is the namespace; else an empty string."""
    if name != "namespace":
        return ""
    # Operations of the dynamic client have names such as "Pod.get", and their namespace is optional.
    if "." in operation.name:
        return "; for all namespaces leave it out"
    listing = operation.name.replace("list_namespaced_", "list_")
    every = f"{listing}_for_all_namespaces"
    if every not in operations.operations(operation.api):
        return ""
    return f"; for all namespaces use {every}()"


def _query(operation: operations.Operation, values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Returns the query's pairs in the signature's order."""
    pairs: list[tuple[str, str]] = []
    elsewhere = operation.path_parameters | {"body"}
    for name in operation.parameters:
        if name not in values or name in elsewhere:
            continue
        wire, kind = operation.query(name)
        value = values[name]
        if name.endswith("_selector"):
            value = selector_text(value)
        if not isinstance(value, list | tuple):
            value = [value]
        for each in value:
            text = _text(operation, name, kind, each)
            pairs.append((wire, text))
    return tuple(pairs)


def _text(operation: operations.Operation, name: str, kind: str, value: Any) -> str:
    """Returns one query value as a string."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    if isinstance(value, quantity_number.Quantity):
        value = value.plain()
    if isinstance(value, Mapping):
        terms = [f"{key}={each}" for key, each in value.items()]
        return ",".join(terms)
    if isinstance(value, str) and _is_text_of(kind, value):
        return value
    if isinstance(value, int) and kind != "bool":
        return str(value)
    raise TypeError(f"{_title(operation)}: {name} must be {kind}, not {value!r}")


def _is_text_of(kind: str, value: str) -> bool:
    """Says whether a string is a value of a parameter's type."""
    if kind in ("str", "object"):
        return True
    if kind == "int" and value.isdigit():
        return True
    return value in ("true", "false")


def _content_type(operation: operations.Operation, body: Any, media: Any) -> ContentType:
    """Returns the content type of the body. Raises TypeError for a `_content_type` that the method does not allow."""
    is_patch = operation.verb == "PATCH"
    if media is not None:
        plain_json = media == "application/json"
        if media not in _MEDIA or is_patch == plain_json:
            choices = ", ".join(list(_MEDIA)[1:])
            raise TypeError(f"_content_type={media!r}: only PATCH has a choice: {choices}")
        return _MEDIA[media]
    if not is_patch:
        return "json"
    # As in the official client: a list is a JSON patch, anything else the first merge patch that the API accepts.
    if isinstance(body, list):
        return "json-patch"
    if "application/strategic-merge-patch+json" in operation.media:
        return "strategic-merge-patch"
    return "merge-patch"


def _title(operation: operations.Operation) -> str:
    """Returns the method with its required parameters, for errors."""
    required = operation.parameters[: operation.required]
    return f"{operation.name}({', '.join(required)})"


_OPERATORS: Final = {"in": "{} in ({})", "notin": "{} notin ({})", "exists": "{}", "doesnotexist": "!{}"}


def selector_text(value: Any) -> Any:
    """Returns a map or list as selector text, and any other value unchanged."""
    if isinstance(value, Mapping):
        return ",".join(_selector_terms(value))
    if isinstance(value, list | tuple):
        terms = [str(selector_text(each)) for each in value]
        return ",".join(terms)
    return value


def _selector_terms(selector: Mapping[str, Any]) -> Iterator[str]:
    """Yields the terms of a map of labels, or of a LabelSelector as objects have it."""
    for key, wanted in selector.items():
        # The key is folded, since Python's objects have `match_labels`.
        match names.fold(str(key)):
            case "matchlabels" if isinstance(wanted, Mapping):
                yield from _selector_terms(wanted)
            case "matchexpressions" if isinstance(wanted, list):
                yield from map(_selector_expression, wanted)
            case _:
                yield _selector_term(key, wanted)


def _selector_term(key: str, wanted: Any) -> str:
    """Returns the term for one label: None asks for the label's presence, a sequence for one of the values."""
    if wanted is None:
        return str(key)
    if isinstance(wanted, list | tuple | set | frozenset):
        values = ",".join(sorted(map(str, wanted)))
        return f"{key} in ({values})"
    if isinstance(wanted, bool):
        wanted = str(wanted).lower()
    return f"{key}={wanted}"


def _selector_expression(wanted: Mapping[str, Any]) -> str:
    """Returns the term for one of a LabelSelector's `matchExpressions`."""
    operator = str(wanted["operator"]).lower()
    values = wanted.get("values") or ()
    template = _OPERATORS[operator]
    return template.format(wanted["key"], ",".join(values))
