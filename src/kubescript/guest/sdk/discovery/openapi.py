"""Owns the cluster's OpenAPI documents, one per group version, each read once per script. explain.py reads schemas from
them."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from kubescript.guest.sdk.calls import session
from kubescript.guest.sdk.objects import schemas
from kubescript.guest.sdk.values import exceptions
from kubescript.wire.exchanges import Call

__all__ = ["OpenApi", "Schema"]

Schema = dict[str, Any]

_KIND: Final = "x-kubernetes-group-version-kind"
_PREFIX: Final = "#/components/schemas/"


# A document is about a megabyte, so a schema stays undecoded until it is read.
class _Components(msgspec.Struct, gc=False):
    schemas: dict[str, msgspec.Raw] = {}


class _Document(msgspec.Struct, gc=False):
    components: _Components = msgspec.field(default_factory=_Components)


class OpenApi:
    """The documents of one cluster."""

    def __init__(self, session: session.Session) -> None:
        self._session = session
        self._documents: dict[str, dict[str, Any]] = {}

    def kind(self, group: str, version: str, kind: str) -> Schema | None:
        """Returns the schema of one kind; None when the cluster does not describe it."""
        schemas = self._schemas(group, version)
        wanted = {"group": group, "version": version, "kind": kind}
        for name in schemas:
            if name.rpartition(".")[2] == kind and wanted in self._schema(schemas, name).get(_KIND, ()):
                return self._schema(schemas, name)
        return self._read_definition(group, version, kind)

    def resolve(self, group: str, version: str, schema: Schema) -> tuple[Schema, str]:
        """Returns the schema that a field's schema refers to, and its name."""
        target = schema.get("$ref") or next((each.get("$ref") for each in schema.get("allOf") or ()), None)
        if not isinstance(target, str):
            return schema, ""
        schemas = self._schemas(group, version)
        name = target.removeprefix(_PREFIX)
        # The field's own keys win, its description above all.
        found = self._schema(schemas, name) if name in schemas else {}
        return {**found, **{key: value for key, value in schema.items() if key != "allOf"}}, name.rpartition(".")[2]

    def _schema(self, schemas: dict[str, Any], name: str) -> Schema:
        if isinstance(schemas[name], msgspec.Raw):
            schemas[name] = msgspec.json.decode(schemas[name])
        return schemas[name]  # type: ignore[no-any-return]

    def _schemas(self, group: str, version: str) -> dict[str, Any]:
        where = f"apis/{group}/{version}" if group else f"api/{version}"
        if where not in self._documents:
            self._documents[where] = self._read(where)
        return self._documents[where]

    def _read(self, where: str) -> dict[str, Any]:
        """Returns one document's schemas; an empty dict when there is no such document."""
        # Snapshots and old API servers have no OpenAPI documents.
        try:
            text, _ = self._session.fetch_text(Call("GET", ("openapi", "v3", *where.split("/"))))
            return dict(msgspec.json.decode(text, type=_Document).components.schemas)
        except (exceptions.ApiException, msgspec.DecodeError):
            return {}

    def _read_definition(self, group: str, version: str, kind: str) -> Schema | None:
        """Returns the schema in a CustomResourceDefinition."""
        # A snapshot has these definitions, but no OpenAPI.
        # The group of a custom resource always has a dot in its name.
        if "." not in group:
            return None
        path = ("apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions")
        try:
            found, _ = self._session.fetch_list(Call("GET", path), schemas.OBJECT, "")
            for spec in (each["spec"] for each in found):
                if spec["group"] == group and spec["names"]["kind"] == kind:
                    served = [each for each in spec["versions"] if each["name"] == version and each.get("schema")]
                    return served[0]["schema"]["openAPIV3Schema"].to_dict() if served else None
        except (exceptions.ApiException, KeyError, TypeError):
            return None
        return None
