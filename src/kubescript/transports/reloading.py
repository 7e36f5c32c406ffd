"""Reads the configuration again at SIGHUP. It takes effect as a whole, or not at all."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread

from kubescript import config, errors
from kubescript.transports import backend

__all__ = ["watch"]

log = logging.getLogger(__name__)

_Reload = Callable[[config.Settings], Awaitable[None]]
"""Serves under other settings from now on. Raises ConfigError when they cannot take effect; all is as before then."""


async def watch(reread: backend.Reread | None, reload: _Reload) -> None:
    """Reloads at each SIGHUP. Returns at once where signals cannot be handled, or there is nothing to read."""
    if reread is None or threading.current_thread() is not threading.main_thread():
        return
    with anyio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            await _try_reload(reread, reload)


async def _try_reload(reread: backend.Reread, reload: _Reload) -> None:
    try:
        settings = await anyio.to_thread.run_sync(reread)
        await reload(settings)
    except errors.KubescriptError as error:
        log.warning(
            "the configuration is not reloaded, and all is as before: %s",
            error.message,
            extra={"event": "reload.refused", "code": error.code, "remedy": error.remedy},
        )
    except Exception:  # whatever else is wrong with what was read, the server goes on
        log.exception("the configuration is not reloaded", extra={"event": "reload.refused"})
    else:
        log.info("the configuration is reloaded", extra={"event": "reload.done"})
