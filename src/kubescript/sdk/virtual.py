"""The virtual `kubernetes` package: what `from kubernetes import client, config, watch` gives a script.

Everything is a stand-in made here; no module object is reachable. `exports` is for the import guard: dotted name to
what it exports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NoReturn, Self

from kubescript.sdk import client, dynamic, errors, guesses, models, names, plain, quantity, tables, watch

__all__ = ["VirtualModule", "exports", "kubernetes_module"]

_EXCEPTIONS: Final[dict[str, object]] = {
    **{name: getattr(errors, name) for name in errors.__all__ if name.endswith("Exception")},
    "OpenApiException": errors.ApiException,
    "ApiTypeError": TypeError,
    "ApiValueError": ValueError,
    "ApiKeyError": KeyError,
    "ApiAttributeError": AttributeError,
}


class VirtualModule:
    """What a script holds after an import: read-only attributes, no way to a module."""

    __slots__ = ("_exports", "_name")

    _exports: Mapping[str, object]
    _name: str

    def __init__(self, name: str, exports: Mapping[str, object]) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_exports", exports)

    def __getattr__(self, name: str) -> object:
        try:
            return self._exports[name]
        except KeyError:
            raise AttributeError(f"{self._name} has no {name!r}; {self._advice(name)}") from None

    def _advice(self, name: str) -> str:
        advice = getattr(self._exports, "advice", lambda _name: "")(name)
        return advice or names.suggestion(name, self._exports)

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"{self._name} cannot be changed")

    def __dir__(self) -> list[str]:
        return sorted(self._exports)

    def __repr__(self) -> str:
        return f"<module {self._name} (kubescript)>"


class Inert:
    """The server is already connected, so what would connect accepts anything and means nothing."""

    _guarded_writes = True

    def __init__(self, *_args: object, **_kwargs: object) -> None:
        """Whatever it is configured with is dropped."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing to close."""

    def __setattr__(self, _name: str, _value: object) -> None:
        """A setting, such as verify_ssl: dropped."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is a stand-in without {name!r}: the server is connected already; "
            "use k8s.coreV1() or k8s.get(...)"
        )


class ApiClient(Inert):
    """`client.ApiClient()`."""

    def close(self) -> None:
        """Nothing to close."""

    def sanitize_for_serialization(self, value: Any) -> Any:
        """The value as plain camelCase data, as officially."""
        return plain.to_plain(value, prune=False)


class Configuration(Inert):
    """`client.Configuration()`."""

    @classmethod
    def get_default_copy(cls) -> Configuration:
        """A stand-in too."""
        return cls()

    @classmethod
    def set_default(cls, _default: object) -> None:
        """Dropped."""


class _ClientExports(Mapping[str, object]):
    """`kubernetes.client`: API classes, models and exceptions, each made when it is asked for."""

    def __init__(self, k8s: client.K8s, more: Mapping[str, object]) -> None:
        self._k8s = k8s
        self._more = more

    def __getitem__(self, name: str) -> object:
        folded = names.fold(name)
        if name in self._more:
            return self._more[name]
        if folded.endswith("api") and (api := self._k8s._apis.get(folded)):
            return self._k8s.api(api)
        if name in tables.models():
            return models.Model(name)
        raise KeyError(name)

    def advice(self, name: str) -> str:
        """What to write instead of a class of a version that is gone."""
        found = guesses.current(names.fold(name), self._k8s._apis)
        return f"clusters no longer serve that version; use {' or '.join(f'{api}' for api in found)}" if found else ""

    def __iter__(self) -> Iterator[str]:
        yield from (*tables.apis(), *tables.models(), *self._more)

    def __len__(self) -> int:
        return len(tables.apis()) + len(tables.models()) + len(self._more)


def exports(k8s: client.K8s) -> Mapping[str, Mapping[str, object]]:
    """Every virtual module's exports by its dotted name."""
    exceptions = VirtualModule("kubernetes.client.exceptions", _EXCEPTIONS)
    more = {
        **_EXCEPTIONS,
        "ApiClient": ApiClient,
        "Configuration": Configuration,
        "exceptions": exceptions,
        "rest": exceptions,
    }
    members: dict[str, Mapping[str, object]] = {
        "client": _ClientExports(k8s, more),
        "config": _config(),
        "dynamic": _dynamic(k8s),
        "watch": {"Watch": watch.Watch},
        "utils": {"parse_quantity": quantity.parse_quantity},
    }
    top = {name: VirtualModule(f"kubernetes.{name}", members[name]) for name in members}
    return {
        "kubernetes": top,
        **{f"kubernetes.{name}": each for name, each in members.items()},
        **dict.fromkeys(("kubernetes.client.exceptions", "kubernetes.client.rest"), _EXCEPTIONS),
        "kubernetes.client.api": members["client"],
        "kubernetes.client.models": members["client"],
        "kubernetes.dynamic.exceptions": _dynamic_exceptions(),
        "kubernetes.config.config_exception": _config(),
        "kubernetes.utils.quantity": members["utils"],
        "kubernetes.client.api_client": {"ApiClient": ApiClient},
    }


def kubernetes_module(k8s: client.K8s) -> VirtualModule:
    """What `import kubernetes` binds."""
    return VirtualModule("kubernetes", exports(k8s)["kubernetes"])


def _config() -> dict[str, object]:
    """`kubernetes.config`: the connection exists already, so every loader does nothing."""

    def load(*_args: object, **_kwargs: object) -> None:
        """Nothing to load: the server is connected already."""

    def new_client(*_args: object, **_kwargs: object) -> ApiClient:
        """A client without meaning: the server is connected already."""
        return ApiClient()

    def contexts(*_args: object, **_kwargs: object) -> tuple[list[dict[str, object]], dict[str, object]]:
        """One context, the server's own."""
        current: dict[str, object] = {"name": "kubescript", "context": {"cluster": "kubescript", "user": "kubescript"}}
        return [current], current

    loaders: dict[str, Callable[..., object]] = dict.fromkeys(
        ("load_kube_config", "load_incluster_config", "load_config", "load_kube_config_from_dict"), load
    )
    return {
        **loaders,
        "new_client_from_config": new_client,
        "new_client_from_config_dict": new_client,
        "list_kube_config_contexts": contexts,
        "ConfigException": ValueError,
    }


def _dynamic(k8s: client.K8s) -> dict[str, object]:
    """`kubernetes.dynamic`."""
    return {
        "DynamicClient": k8s.dynamic,
        "exceptions": VirtualModule("kubernetes.dynamic.exceptions", _dynamic_exceptions()),
        **_dynamic_exceptions(),
    }


def _dynamic_exceptions() -> dict[str, object]:
    return {
        "ApiException": errors.ApiException,
        "DynamicApiError": errors.ApiException,
        "NotFoundError": errors.NotFoundException,
        "ForbiddenError": errors.ForbiddenException,
        "ConflictError": errors.ConflictException,
        "UnauthorizedError": errors.UnauthorizedException,
        "BadRequestError": errors.BadRequestException,
        "UnprocessibleEntityError": errors.UnprocessableEntityException,
        "InternalServerError": errors.ServiceException,
        "ResourceNotFoundError": dynamic.ResourceNotFoundError,
        "ResourceNotUniqueError": dynamic.ResourceNotFoundError,
    }
