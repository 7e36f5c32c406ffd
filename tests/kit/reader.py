"""What a reader of the pages has at hand when typing their commands: a cluster, a checkout, and the files that the pages
name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from tests.kit import clients, commands, paths, trails

__all__ = ["environment", "furnish"]

DOCS: Final = paths.ROOT / "docs"
MIGRATED: Final = paths.ROOT / "tests" / "end_to_end" / "command" / "migration_every_key.toml"


def furnish(home: Path, kubeconfig: Path) -> None:
    """Puts the files that the pages name into a reader's home, which is the checkout's folder too."""
    home.mkdir()
    _add_cluster(home, kubeconfig)
    _add_audit(home)
    _add_runbooks(home)
    (home / "examples").symlink_to(paths.ROOT / "examples")
    (home / "results").mkdir()  # of the safety benchmark
    shutil.copy(MIGRATED, home / "config.toml")
    (home / "safety.json").write_text(_block("audit", "json", 1))


def environment(home: Path) -> Mapping[str, str | None]:
    """The variables of a reader, whose PATH has no program but the machine's."""
    own = {"HOME": str(home), "XDG_CACHE_HOME": clients.CACHE, "PATH": "/usr/bin:/bin"}
    return {**commands.BARE, **dict.fromkeys(("XDG_STATE_HOME", "XDG_CONFIG_HOME")), **own}


def _add_cluster(home: Path, kubeconfig: Path) -> None:
    """The broken cluster, also under the names that the pages use."""
    config = yaml.safe_load(kubeconfig.read_text("utf-8"))
    (only,) = config["contexts"]
    config["contexts"] += [{**only, "name": name} for name in ("prod-eu", "prod-us")]
    (home / ".kube").mkdir()
    (home / ".kube" / "config").write_text(yaml.dump(config))


def _add_audit(home: Path) -> None:
    """A record of one script, with all that a replay needs."""
    flags = ("--snapshot", str(trails.snapshot(home)), "--audit", "audit.jsonl", "--audit-keep", "responses")
    done = commands.run("run", "-c", trails.COUNT, *flags, folder=home, environment=environment(home))
    assert done.returncode == 0, done.stderr


def _add_runbooks(home: Path) -> None:
    """The page's runbook; FILE, as the page has it, are the settings that name its folder."""
    books = home / "books"
    books.mkdir()
    (books / "restart-web.py").write_text(_block("runbooks", "python"))
    (home / "FILE").write_text(f'[runbooks]\nfolder = "{books}"\n')


def _block(page: str, language: str, number: int = 0) -> str:
    """Returns a block of a page of docs/."""
    found: list[str] = re.findall(rf"```{language}\n(.*?)```", (DOCS / f"{page}.md").read_text("utf-8"), re.DOTALL)
    return found[number]
