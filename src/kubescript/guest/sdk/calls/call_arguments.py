"""Owns the way from a Python call to a request: `list_namespaced_pod("shop", labelSelector="app=web")` becomes path,
query and body. methods.py and resources.py call `bind`.

Parameters are accepted in the official client's spelling and in camelCase. Every other argument is refused, and the
error names the right spelling.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from kubescript.guest.sdk.objects import serialize
from kubescript.guest.sdk.values import exact, names, operations
from kubescript.wire import exchanges
from kubescript.wire.exchanges import Call

__all__ = ["bind", "path_segments", "selector_text"]
ContentType = Literal["json", "json-patch", "merge-patch", "strategic-merge-patch", "apply-patch"]

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
    """Returns the request for one method call. Raises TypeError that names the right parameters."""
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
    # a filter that does not filter.
    if len(args) > operation.required:
        raise TypeError(_nameless(operation, args[operation.required :]))
    values: dict[str, Any] = dict(zip(operation.parameters, args, strict=False))
    spellings = {names.fold(name): name for name in operation.parameters}
    for given, value in kwargs.items():
        if _is_transport_option(operation, given, value):
            continue
        name = given if given in operation.parameters else spellings.get(names.fold(given))
        if given == "_content_type":
            name = given
        # A selector that is dropped silently would also be a filter that does not filter.
        if name is None:
            raise TypeError(_unknown(operation, given))
        if name in values:
            raise TypeError(f"{_title(operation)} got {name!r} twice")
        values[name] = value
    return {
        name: value
        for name, value in values.items()
        if value is not None or name in operation.parameters[: operation.required]
    }


_OFTEN_MEANT: Final = ("label_selector", "field_selector", "container", "tail_lines", "body")
"""The parameters that scripts most often mean by an argument without a name, the most likely first."""


def _nameless(operation: operations.Operation, extra: Sequence[Any]) -> str:
    """Returns the error for arguments without a name after the required ones."""
    known = [each for each in _OFTEN_MEANT if each in operation.parameters]
    if not known:
        instead = "name the others"
    elif isinstance(extra[0], str):
        meant = "name" if known == ["body"] else known[0]
        instead = f"write {meant}={extra[0]!r}"
    else:
        assignments = [f"{each}=..." for each in known]
        instead = f"name the others: {', '.join(assignments)}"
    return f"{_title(operation)} takes {operation.required} arguments without a name; {instead}"


def _is_transport_option(operation: operations.Operation, given: str, value: Any) -> bool:
    """Tells whether an argument is about HTTP rather than Kubernetes and has no effect here. Raises TypeError when it
    would have an effect."""
    if given in _IGNORED:
        return True
    # `watch` is an option only of methods that have the parameter; for others it is an unknown name.
    if given in _REFUSED and (given != "watch" or given in operation.parameters):
        if value not in _HARMLESS_DEFAULTS.get(given, (None,)):
            raise TypeError(f"{given}: {_REFUSED[given]}")
        return True
    return False


def _unknown(operation: operations.Operation, given: str) -> str:
    """Returns the error for a parameter that the method does not have."""
    meant = _SYNONYMS.get(names.fold(given))
    if meant in operation.parameters:
        near = f"did you mean {meant!r}?"
    else:
        near = names.suggestion(given, operation.parameters, 30)
    about_namespace = "namespace" in (names.fold(given), meant)
    if not about_namespace or "namespace" in operation.parameters:
        return f"{_title(operation)} has no parameter {given!r}; {near}"
    other = operation.name.replace("_for_all_namespaces", "").replace("list_", "list_namespaced_")
    if other in operations.operations(operation.api):
        return f"{operation.name} reads all namespaces; for one use {other}(namespace=...)"
    return f"{operation.name} is not about a namespace; leave 'namespace' out"


def _require(operation: operations.Operation, values: dict[str, Any]) -> None:
    """Raises TypeError for a required argument that is missing or None."""
    needed = operation.parameters[: operation.required]
    missing = [name for name in needed if name not in values]
    if missing:
        quoted = ", ".join(map(repr, missing))
        hint = _hint(operation, "namespace") if missing == ["namespace"] else ""
        raise TypeError(f"{_title(operation)} is missing {quoted}{hint}")
    if "body" in needed and values["body"] is None:
        raise TypeError(f"{_title(operation)}: body must be an object, not None")


def path_segments(operation: operations.Operation, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns the segments of the path, unquoted."""
    segments: list[str] = []
    for part in operation.path.strip("/").split("/"):
        if not part.startswith("{"):
            segments.append(part)
            continue
        name = part[1:-1]
        value = values[name]
        lists = operation.verb == "GET" and "name" not in values
        # A namespace called "all" does not exist, so its list would be empty instead of complete.
        everywhere = lists and name == "namespace" and value in _EVERYWHERE
        if not isinstance(value, str) or not value or everywhere:
            hint = _hint(operation, name)
            raise TypeError(f"{_title(operation)}: {name} must be one name, not {value!r}{hint}")
        # A proxied path is one parameter with several segments.
        if name in ("path", "logpath"):
            segments.extend(value.strip("/").split("/"))
        else:
            segments.append(value)
    return tuple(segments)


def _hint(operation: operations.Operation, name: str) -> str:
    if name == "namespace" and "." in operation.name:  # an operation of the dynamic client, such as "Pod.get"
        return "; for all namespaces leave it out"
    if name != "namespace":
        return ""
    every = operation.name.replace("list_namespaced_", "list_") + "_for_all_namespaces"
    known = operations.operations(operation.api)
    return f"; for all namespaces use {every}()" if every in known else ""


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
        several = value if isinstance(value, list | tuple) else [value]
        pairs.extend((wire, _text(operation, name, kind, each)) for each in several)
    return tuple(pairs)


def _text(operation: operations.Operation, name: str, kind: str, value: Any) -> str:
    """Returns one query value as text."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    if isinstance(value, exact.Quantity):
        value = value.plain()
    if isinstance(value, Mapping):
        return ",".join(f"{key}={each}" for key, each in value.items())
    if isinstance(value, str) and (
        kind in ("str", "object") or (kind == "int" and value.isdigit()) or value in ("true", "false")
    ):
        return value
    if isinstance(value, int) and kind != "bool":
        return str(value)
    raise TypeError(f"{_title(operation)}: {name} must be {kind}, not {value!r}")


def _content_type(operation: operations.Operation, body: Any, media: Any) -> ContentType:
    """Returns the content type of the body. Raises TypeError for a `_content_type` that the method does not allow."""
    if media is not None:
        if media not in _MEDIA or (operation.verb == "PATCH") == (media == "application/json"):
            raise TypeError(f"_content_type={media!r}: only PATCH has a choice: {', '.join(list(_MEDIA)[1:])}")
        return _MEDIA[media]
    if operation.verb != "PATCH":
        return "json"
    # As in the official client: a list is a JSON patch, anything else the first merge patch that the API accepts.
    if isinstance(body, list):
        return "json-patch"
    return "strategic-merge-patch" if "application/strategic-merge-patch+json" in operation.media else "merge-patch"


def _title(operation: operations.Operation) -> str:
    """Returns the method with its required parameters, for errors."""
    return f"{operation.name}({', '.join(operation.parameters[: operation.required])})"


_OPERATORS: Final = {"in": "{} in ({})", "notin": "{} notin ({})", "exists": "{}", "doesnotexist": "!{}"}


def selector_text(value: Any) -> Any:
    """Returns a map or list as selector text, and any other value unchanged."""
    if isinstance(value, Mapping):
        return ",".join(_selector_terms(value))
    if isinstance(value, list | tuple):
        return ",".join(str(selector_text(each)) for each in value)
    return value


def _selector_terms(selector: Mapping[str, Any]) -> Iterator[str]:
    for key, wanted in selector.items():
        match names.fold(str(key)):
            case "matchlabels" if isinstance(wanted, Mapping):
                yield from _selector_terms(wanted)
            case "matchexpressions" if isinstance(wanted, list):
                yield from map(_selector_expression, wanted)
            case _:
                yield _selector_term(key, wanted)


def _selector_term(key: str, wanted: Any) -> str:
    if wanted is None:
        return str(key)
    if isinstance(wanted, list | tuple | set | frozenset):
        values = sorted(map(str, wanted))
        return f"{key} in ({','.join(values)})"
    if isinstance(wanted, bool):
        wanted = str(wanted).lower()
    return f"{key}={wanted}"


def _selector_expression(wanted: Mapping[str, Any]) -> str:
    name = str(wanted["operator"]).lower()
    values = wanted.get("values") or ()
    return _OPERATORS[name].format(wanted["key"], ",".join(values))
