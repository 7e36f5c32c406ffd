"""Names that scripts of the official client write beside it, and that mean nothing here: urllib3's errors, settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kubescript.worker.language import stdlib

__all__ = ["URLLIB3", "ConfigurationModule", "nothing"]


def nothing(*_args: object, **_kwargs: object) -> None:
    """Accepted, and without effect."""


class ConfigurationModule(stdlib.Module):
    """`client.configuration`, whose settings old scripts write to."""

    _guarded_writes = True
    Configuration: object

    def __init__(self, configuration: object) -> None:
        object.__setattr__(self, "Configuration", configuration)

    def __setattr__(self, _name: str, _value: object) -> None:
        """A setting, such as assert_hostname: dropped."""


class HTTPError(Exception):
    """What scripts name in an `except`; a broken connection raises ApiException here."""


_NAMES: Final = (
    "HTTPError ProtocolError MaxRetryError ReadTimeoutError ConnectTimeoutError NewConnectionError SSLError "
    "TimeoutError InsecureRequestWarning"
)
URLLIB3: Final[Mapping[str, object]] = dict.fromkeys(_NAMES.split(), HTTPError)
"""`urllib3.exceptions`."""
