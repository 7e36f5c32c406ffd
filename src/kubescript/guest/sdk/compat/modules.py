"""Provides the virtual `kubernetes` package, which a script gets by `from kubernetes import client, config, watch`.

The import guard calls `exports`, which maps a dotted name to its members. Every member is a stand-in; no module object
is reachable. urllib3's errors and settings, which scripts use with the official client, are accepted and have no
effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import futures, method_hints, watch
from kubescript.guest.sdk.compat import kubeconfig, models, utilities
from kubescript.guest.sdk.discovery import dynamic
from kubescript.guest.sdk.values import exceptions, names, operations
from kubescript_sandbox.library import stdlib

__all__ = ["VirtualModule", "exports", "kubernetes_module"]
_EXCEPTIONS: Final[dict[str, object]] = {
    **{name: getattr(exceptions, name) for name in exceptions.__all__ if name.endswith("Exception")},
    "OpenApiException": exceptions.ApiException,
    "ApiTypeError": TypeError,
    "ApiValueError": ValueError,
    "ApiKeyError": KeyError,
    "ApiAttributeError": AttributeError,
}


class VirtualModule(stdlib.Module):
    """A module as a script sees it: read-only attributes, and no way to a real module."""

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
            advice = self._advice(name)
            raise AttributeError(f"{self._name} has no {name!r}; {advice}") from None

    def _advice(self, name: str) -> str:
        """Returns what to write instead of a member: the exports' own hint, or the nearest name."""
        advise = getattr(self._exports, "advice", None)
        own_hint = advise(name) if advise is not None else ""
        return own_hint or names.suggestion(name, self._exports)

    def __setattr__(self, name: str, _value: object) -> None:
        raise AttributeError(f"{self._name} cannot be changed")

    def __dir__(self) -> list[str]:
        return sorted(self._exports)

    def __repr__(self) -> str:
        return f"<module {self._name} (kubescript)>"


def nothing(*_args: object, **_kwargs: object) -> None:
    """Accepts every argument and has no effect."""


class ConfigurationModule(stdlib.Module):
    """`client.configuration`, whose settings old scripts write to."""

    _guarded_writes = True
    Configuration: object

    def __init__(self, configuration: object) -> None:
        object.__setattr__(self, "Configuration", configuration)

    def __setattr__(self, _name: str, _value: object) -> None:
        """Drops a setting, such as assert_hostname."""


class HTTPError(Exception):
    """A class that scripts can name in an `except`. It is never raised: a broken connection raises ApiException."""


_URLLIB3_ERRORS: Final = (
    "HTTPError ProtocolError MaxRetryError ReadTimeoutError ConnectTimeoutError NewConnectionError SSLError "
    "TimeoutError InsecureRequestWarning"
)
URLLIB3: Final[Mapping[str, object]] = dict.fromkeys(_URLLIB3_ERRORS.split(), HTTPError)
"""`urllib3.exceptions`."""


class Advised(dict[str, object]):
    """A module's members, with hints for names that it does not have."""

    def __init__(self, members: Mapping[str, object], advice: Mapping[str, str]) -> None:
        super().__init__(members)
        self._advice = advice

    def advice(self, name: str) -> str:
        """Returns what to write instead of a member; an empty string for a name without a hint."""
        return self._advice.get(name, "")


class _ClientExports(Mapping[str, object]):
    """The members of `kubernetes.client`: API classes, models and exceptions, each made when a script reads it."""

    def __init__(self, choice: kubeconfig.Choice, more: Mapping[str, object]) -> None:
        self._choice = choice
        self._k8s = choice.k8s
        self._more = more

    def __getitem__(self, name: str) -> object:
        if name in self._more:
            return self._more[name]
        folded = names.fold(name)
        api = self._k8s._apis.get(folded)
        if folded.endswith("api") and api:
            # Modules of the official client have names such as core_v1_api, its classes such as CoreV1Api.
            if name.endswith("_api"):
                return VirtualModule(f"kubernetes.client.{name}", self)
            return kubeconfig.ApiClass(self._choice, api)
        if name in ("api", "models", "apis"):
            return VirtualModule(f"kubernetes.client.{name}", self)
        if name in operations.models():
            return models.Model(name)
        raise KeyError(name)

    def advice(self, name: str) -> str:
        """Returns what to write instead of a class of a version that clusters do not serve."""
        folded = names.fold(name)
        served = method_hints.current(folded, self._k8s._apis)
        if not served:
            return ""
        return method_hints.other_version(folded, served)

    def __iter__(self) -> Iterator[str]:
        yield from operations.apis()
        yield from operations.models()
        yield from self._more

    def __len__(self) -> int:
        generated = len(operations.apis()) + len(operations.models())
        return generated + len(self._more)


def exports(k8s: client.K8s) -> Mapping[str, Mapping[str, object]]:
    """Returns the members of every virtual module by its dotted name."""
    choice = kubeconfig.Choice(k8s)
    stand_ins = kubeconfig.stand_ins(choice)
    config = kubeconfig.config(choice, stand_ins["ApiClient"])
    utils, duration = utilities.members(choice), utilities.duration_members()
    members: dict[str, Mapping[str, object]] = {
        "client": _client(choice, stand_ins),
        "config": config,
        "dynamic": _dynamic(choice),
        "watch": {"Watch": watch.Watch},
        "utils": _utils(utils, duration),
    }
    top = {name: VirtualModule(f"kubernetes.{name}", members[name]) for name in members}
    return {
        "kubernetes": top,
        **{f"kubernetes.{name}": each for name, each in members.items()},
        **dict.fromkeys(("kubernetes.client.exceptions", "kubernetes.client.rest"), _EXCEPTIONS),
        "kubernetes.client.api": members["client"],
        "kubernetes.client.models": members["client"],
        "kubernetes.dynamic.exceptions": _dynamic_exceptions(),
        "kubernetes.config.config_exception": config,
        "kubernetes.utils.quantity": utils,
        "kubernetes.utils.duration": duration,
        "kubernetes.client.api_client": stand_ins,
        "kubernetes.client.configuration": stand_ins,
        "kubernetes.dynamic.client": members["dynamic"],
        **_urllib3(),
        **_concurrent(k8s),
    }


def kubernetes_module(k8s: client.K8s) -> VirtualModule:
    """Returns the module that `import kubernetes` binds."""
    members = exports(k8s)["kubernetes"]
    return VirtualModule("kubernetes", members)


def _client(choice: kubeconfig.Choice, stand_ins: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the members of `kubernetes.client`."""
    raised = VirtualModule("kubernetes.client.exceptions", _EXCEPTIONS)
    return _ClientExports(choice, {
        **_EXCEPTIONS,
        **stand_ins,
        "exceptions": raised,
        "rest": raised,
        "api_client": VirtualModule("kubernetes.client.api_client", stand_ins),
        "configuration": ConfigurationModule(stand_ins["Configuration"]),
    })  # fmt: skip


def _utils(utils: Mapping[str, object], duration: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the members of `kubernetes.utils`."""
    modules = {
        "quantity": VirtualModule("kubernetes.utils.quantity", utils),
        "duration": VirtualModule("kubernetes.utils.duration", duration),
    }
    return Advised({**utils, **modules}, utilities.ADVICE)


def _urllib3() -> dict[str, Mapping[str, object]]:
    """Returns the virtual urllib3."""
    # Scripts silence its warnings and name its errors in an `except`.
    members = {"exceptions": VirtualModule("urllib3.exceptions", URLLIB3), "disable_warnings": nothing}
    return {"urllib3": members, "urllib3.exceptions": URLLIB3}


def _concurrent(k8s: client.K8s) -> dict[str, Mapping[str, object]]:
    """Returns the virtual `concurrent.futures`, which makes several calls to the cluster at the same time."""
    members = futures.exports(k8s._session.relay)
    module = VirtualModule("concurrent.futures", members)
    return {"concurrent": {"futures": module}, "concurrent.futures": members}


def _dynamic(choice: kubeconfig.Choice) -> dict[str, object]:
    """Returns the members of `kubernetes.dynamic`."""
    return {
        "DynamicClient": kubeconfig.dynamic_client(choice),
        "exceptions": VirtualModule("kubernetes.dynamic.exceptions", _dynamic_exceptions()),
        **_dynamic_exceptions(),
    }


def _dynamic_exceptions() -> dict[str, object]:
    return {
        "ApiException": exceptions.ApiException,
        "DynamicApiError": exceptions.ApiException,
        "NotFoundError": exceptions.NotFoundException,
        "ForbiddenError": exceptions.ForbiddenException,
        "ConflictError": exceptions.ConflictException,
        "UnauthorizedError": exceptions.UnauthorizedException,
        "BadRequestError": exceptions.BadRequestException,
        "UnprocessibleEntityError": exceptions.UnprocessableEntityException,
        "InternalServerError": exceptions.ServiceException,
        "ResourceNotFoundError": dynamic.ResourceNotFoundError,
        "ResourceNotUniqueError": dynamic.ResourceNotFoundError,
    }
