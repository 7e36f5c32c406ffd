"""What a test starts with `with`, and what is ended whatever happens."""

from __future__ import annotations

import abc
from types import TracebackType
from typing import Self

__all__ = ["Startable"]


class Startable(abc.ABC):
    """A server that runs within a `with`. One that does not start is closed too."""

    @abc.abstractmethod
    def start(self) -> None:
        """Starts it."""

    @abc.abstractmethod
    def close(self) -> None:
        """Ends it for good."""

    def start_all(self) -> None:
        """Starts it and what it needs."""
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
