"""Where the repository is."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
ONE_NAMESPACE: Final = Path(__file__).with_name("one_namespace.yaml")
"""The smallest saved cluster, without sources."""
