"""Servers that tests start with `with`, and that are always closed."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import Self

__all__ = ["Startable"]


class Startable(abc.ABC):
    """A server that runs within a `with`. It is closed even if it fails to start."""

    @abc.abstractmethod
    def start(self) -> None:
        """Starts the server."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends the server for good."""

    def start_all(self) -> None:
        """Starts the server and everything that it needs."""
        self.start()

    def __enter__(self) -> Self:
        try:
            self.start_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
