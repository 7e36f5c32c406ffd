"""Provides `kubernetes.config`, which chooses the cluster of `client.CoreV1Api()`. modules.py exports it.

No file is loaded, since the server is connected already. A loader chooses one of the contexts that the script may name.
As in the official client, the choice holds for clients made afterwards, and an `api_client` or a `configuration` that
is passed to a client takes precedence.
"""

from __future__ import annotations

from typing import Any, NoReturn, Self

from kubescript.guest.sdk import client
from kubescript.guest.sdk.calls import api_class
from kubescript.guest.sdk.discovery import dynamic
from kubescript.guest.sdk.objects import serialize

__all__ = ["ApiClass", "Choice", "Inert", "config", "dynamic_client", "stand_ins"]


class Choice:
    """The cluster that was loaded last."""

    def __init__(self, k8s: client.K8s) -> None:
        self.k8s = k8s

    def find(self, context: Any) -> client.K8s:
        """Returns the cluster of this context. Raises ValueError, which is ConfigException here, for an unknown one."""
        # If no context has a name, every name is accepted and means the only cluster; if that cannot be reached, the
        # first call fails with the reason.
        unnamed = not self.k8s._contexts.several and self.k8s.contexts() == [""]
        return self.k8s.context(None if unnamed else context)

    def of(self, *given: object) -> client.K8s:
        """Returns the cluster of the first stand-in among an API class's arguments, else the one loaded last."""
        for each in given:
            if isinstance(each, Inert):
                return each._k8s
        return self.k8s


class Inert:
    """The base of the stand-ins for objects that connect. The server is connected already, so a stand-in accepts every
    argument and setting, and holds only its cluster."""

    _guarded_writes = True
    _choice: Choice
    _k8s: client.K8s

    def __init__(self, *args: object, **kwargs: object) -> None:
        """Drops every argument except a stand-in, whose cluster it takes."""
        # The class's own __setattr__ drops everything, so this assignment bypasses it.
        chosen = self._choice.of(*args, *kwargs.values())
        object.__setattr__(self, "_k8s", chosen)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing to close."""

    def __setattr__(self, _name: str, _value: object) -> None:
        """Drops a setting, such as verify_ssl."""

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is a stand-in without {name!r}: the server is connected already; "
            "use k8s.coreV1() or k8s.get(...)"
        )


def stand_ins(choice: Choice) -> dict[str, Any]:
    """Returns `client.ApiClient` and `client.Configuration` of one script."""

    class ApiClient(Inert):
        """`client.ApiClient()`."""

        _choice = choice

        def close(self) -> None:
            """Nothing to close."""

        def sanitize_for_serialization(self, value: Any) -> Any:
            """The value as plain camelCase data, as in the official client."""
            return serialize.to_plain(value, prune=False)

    class Configuration(Inert):
        """`client.Configuration()`."""

        _choice = choice

        @classmethod
        def get_default_copy(cls) -> Inert:
            """A stand-in for the cluster loaded last."""
            return cls()

        @classmethod
        def set_default(cls, default: object) -> None:
            """Chooses the cluster of `default` for clients made afterwards."""
            choice.k8s = choice.of(default)

        @property
        def host(self) -> str:
            """A placeholder for the address."""
            # Scripts only print the address.
            return "(the server's own)"

    return {"ApiClient": ApiClient, "Configuration": Configuration}


class ApiClass(api_class.Api):
    """`client.CoreV1Api`; calling the class chooses the cluster."""

    __slots__ = ("_choice",)

    def __init__(self, choice: Choice, name: str) -> None:
        super().__init__(choice.k8s._session, name)
        self._choice = choice

    def __call__(self, *args: object, **kwargs: object) -> api_class.Api:
        """The class for the cluster of its `api_client`, or for the one loaded last."""
        chosen = self._choice.of(*args, *kwargs.values())
        return chosen.api(self._name)


def dynamic_client(choice: Choice) -> Any:
    """Returns `dynamic.DynamicClient`."""

    def make(*args: object, **kwargs: object) -> dynamic.DynamicClient:
        """A client for the cluster of its ApiClient."""
        chosen = choice.of(*args, *kwargs.values())
        return chosen.dynamic()

    return make


def config(choice: Choice, api_client: Any) -> dict[str, object]:
    """Returns the members of `kubernetes.config`."""

    def load(
        config_file: object = None,
        context: object = None,
        client_configuration: object = None,
        *_: object,
        **__: object,
    ) -> None:
        """Choose a cluster by its context; nothing is read."""
        chosen = choice.find(context)
        if isinstance(client_configuration, Inert):
            object.__setattr__(client_configuration, "_k8s", chosen)
        else:
            choice.k8s = chosen

    def load_incluster(client_configuration: object = None, *_: object, **__: object) -> None:
        """Choose the default cluster; nothing is read."""
        load(None, None, client_configuration)

    def new_client(config_file: object = None, context: object = None, *_: object, **__: object) -> Any:
        """A client for one context."""
        made = api_client()
        chosen = choice.find(context)
        object.__setattr__(made, "_k8s", chosen)
        return made

    def contexts(*_args: object, **_kwargs: object) -> tuple[list[dict[str, object]], dict[str, object]]:
        """The contexts a script may name, and the default one."""
        # A single cluster may have no context name.
        known = choice.k8s.contexts()
        found = [_entry(name or "kubescript") for name in known]
        return found, found[0]

    return {
        **dict.fromkeys(("load_kube_config", "load_config", "load_kube_config_from_dict"), load),
        "load_incluster_config": load_incluster,
        **dict.fromkeys(("new_client_from_config", "new_client_from_config_dict"), new_client),
        "list_kube_config_contexts": contexts,
        # `Choice.find` raises it for an unknown context.
        "ConfigException": ValueError,
    }


def _entry(name: str) -> dict[str, object]:
    return {"name": name, "context": {"cluster": name, "user": "kubescript"}}
