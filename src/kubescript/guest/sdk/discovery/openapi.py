"""Provides the cluster's OpenAPI documents, one per group version, each read once per script. explain.py reads schemas
from them."""

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
        """Returns the schema of one kind; None if the cluster does not describe the kind."""
        schemas = self._schemas(group, version)
        wanted = {"group": group, "version": version, "kind": kind}
        for name in schemas:
            # A schema is decoded only if its name ends in the kind.
            if _last_part(name) != kind:
                continue
            schema = self._schema(schemas, name)
            if wanted in schema.get(_KIND, ()):
                return schema
        return self._read_definition(group, version, kind)

    def resolve(self, group: str, version: str, schema: Schema) -> tuple[Schema, str]:
        """Returns the schema that a field's schema refers to, and its name."""
        target = schema.get("$ref")
        if not target:
            choices = schema.get("allOf") or ()
            target = next((each.get("$ref") for each in choices), None)
        if not isinstance(target, str):
            return schema, ""
        schemas = self._schemas(group, version)
        name = target.removeprefix(_PREFIX)
        merged = dict(self._schema(schemas, name)) if name in schemas else {}
        # The field's own keys win, its description above all.
        for key, value in schema.items():
            if key != "allOf":
                merged[key] = value
        return merged, _last_part(name)

    def _schema(self, schemas: dict[str, Any], name: str) -> Schema:
        """Returns one schema of a document, and decodes it when it is first read."""
        schema = schemas[name]
        if isinstance(schema, msgspec.Raw):
            schema = schemas[name] = msgspec.json.decode(schema)
        return schema  # type: ignore[no-any-return]

    def _schemas(self, group: str, version: str) -> dict[str, Any]:
        """Returns the schemas of a group version by name."""
        where = f"apis/{group}/{version}" if group else f"api/{version}"
        known = self._documents.get(where)
        if known is None:
            known = self._documents[where] = self._read(where)
        return known

    def _read(self, where: str) -> dict[str, Any]:
        """Returns one document's schemas; an empty dict if there is no such document."""
        call = Call("GET", ("openapi", "v3", *where.split("/")))
        # Snapshots and old API servers have no OpenAPI documents.
        try:
            text, _ = self._session.fetch_text(call)
            # Only one level is decoded: a script reads only a few of a document's hundreds of schemas.
            document = msgspec.json.decode(text, type=_Document)
        except (exceptions.ApiException, msgspec.DecodeError):
            return {}
        return dict(document.components.schemas)

    def _read_definition(self, group: str, version: str, kind: str) -> Schema | None:
        """Returns the schema in a CustomResourceDefinition, which a snapshot may have without any OpenAPI."""
        # The group of a custom resource always has a dot in its name.
        if "." not in group:
            return None
        path = ("apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions")
        try:
            definitions, _ = self._session.fetch_list(Call("GET", path), schemas.OBJECT, "")
            for definition in definitions:
                spec = definition["spec"]
                if spec["group"] == group and spec["names"]["kind"] == kind:
                    return _served_schema(spec, version)
        except (exceptions.ApiException, KeyError, TypeError):
            return None
        return None


def _served_schema(spec: Any, version: str) -> Schema | None:
    """Returns the schema of one version in a CustomResourceDefinition's spec."""
    for each in spec["versions"]:
        if each["name"] != version or not each.get("schema"):
            continue
        schema: Schema = each["schema"]["openAPIV3Schema"].to_dict()
        return schema
    return None


def _last_part(name: str) -> str:
    """Returns the model's own name: Pod of io.k8s.api.core.v1.Pod."""
    _, _, last = name.rpartition(".")
    return last
