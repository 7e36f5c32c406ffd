"""One Keycloak as a process, with data of its own; what is in its realm is the business of `identity_provider`."""

from __future__ import annotations

import time
import urllib.request
from pathlib import Path
from typing import Final

from kubescript_safety.controlplane import child
from tests.kit import clients
from tests.kit.keycloak import java, realm

ADDRESS: Final = "127.0.0.1"
START_SECONDS: Final = 180
"""An idle machine takes five seconds; one that has never started it, thirty."""
STOP_SECONDS: Final = 120
LOCAL: Final = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Asks this machine, whatever proxies the environment names."""
MAIN: Final = "io.quarkus.bootstrap.runner.QuarkusEntryPoint"

_THREADS: Final = "io.quarkus.bootstrap.forkjoin.QuarkusForkJoinWorkerThreadFactory"
_OPENED: Final = ("util", "util.concurrent", "security", "lang")
JVM: Final = (
    "-Xms64m", "-Xmx300m", "-XX:MaxMetaspaceSize=256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData", "-Xlog:disable", "-Xlog:all=error:stderr", "-Duser.language=en", "-Duser.country=US",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED), "--enable-native-access=ALL-UNNAMED",
    f"-Djava.util.concurrent.ForkJoinPool.common.threadFactory={_THREADS}",
    "-Djava.util.logging.manager=org.jboss.logmanager.LogManager", "-Dpicocli.disable.closures=true",
)  # fmt: skip
"""As Keycloak's own script has it, but a small heap and the compiler that is ready soonest."""


class StartError(RuntimeError):
    """Keycloak did not become ready; the message has the end of its log."""


class Server:
    """Keycloak on a free port of the loopback; `home` holds its data."""

    def __init__(
        self,
        runtime: java.Java,
        distribution: Path,
        home: Path,
        flags: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
    ) -> None:
        """`flags` are added to Java's, `options` to Keycloak's."""
        self.url = f"http://{ADDRESS}:{clients.free_port()}"
        # It looks for what `build` has made under its home.
        (home / "lib").symlink_to(distribution / "lib")
        own = (f"-Djava.io.tmpdir={home}", f"-Dkc.home.dir={home}", f"-Djboss.server.config.dir={home / 'conf'}")
        program = ("-cp", str(distribution / "lib" / "quarkus-run.jar"), MAIN)
        port = self.url.rpartition(":")[2]
        serving = (f"--http-host={ADDRESS}", f"--http-port={port}", "--http-enabled=true", f"--hostname={self.url}")
        started = ("start", "--optimized", *serving, "--cache=local", *options)
        self._child = child.Child(runtime.command(*JVM, *flags, *own, *program, *started), home / "keycloak.log")

    @property
    def pid(self) -> int | None:
        """The process id while it runs."""
        return self._child.pid

    def start(self) -> None:
        """Starts it, again after `stop`: same port and data. Raises StartError."""
        self._child.start()
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self.pid is None or time.monotonic() > deadline:
                raise StartError(f"Keycloak did not become ready\n{self._child.tail()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stops it in the orderly way."""
        self._child.stop(STOP_SECONDS)

    def close(self) -> None:
        """Ends it for good."""
        self._child.close()

    def _answers(self) -> bool:
        try:
            with LOCAL.open(f"{self.url}/realms/{realm.NAME}/.well-known/openid-configuration", timeout=30) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False
