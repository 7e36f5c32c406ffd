"""A real Loki, built once from the module beside this file, with the lines that a test gives it.

It is 2.2.1: see go.mod. It has today's API for queries, labels and series, and LogQL with `| json`,
`| logfmt` and filters on what they find; it takes the lines of a stream in the order of their times.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import httpx2
import yaml

from tests.kit import clients, gomodule, listening

__all__ = ["VERSION", "Loki", "program"]

_HERE: Final = Path(__file__).parent
_PATH: Final = "github.com/grafana/loki"
VERSION: Final = gomodule.version(_HERE, _PATH)
_TENANT: Final = "X-Scope-OrgID"


def program() -> Path:
    """The program; the first call on a machine builds it, which takes 80 seconds."""
    return gomodule.program(_HERE, f"{_PATH}/cmd/loki", f"-s -w -X {_PATH}/pkg/build.Version={VERSION}")


class Loki(listening.Listening):
    """One server, with its data in a folder."""

    def __init__(self, folder: Path, *, tenants: bool = False) -> None:
        """With `tenants`, a request without a tenant is refused, and a tenant sees its own lines only."""
        ports = clients.free_port(), clients.free_port()
        self.url = f"http://127.0.0.1:{ports[0]}"
        file = folder / "loki.yml"
        file.write_text(yaml.safe_dump(_settings(folder, *ports, tenants=tenants)))
        super().__init__([str(program()), f"-config.file={file}"], folder / "loki.log", ports[0], f"{self.url}/ready")

    def push(self, labels: Mapping[str, str], lines: Sequence[tuple[float, str]], tenant: str = "") -> None:
        """Lines of one stream, each with its time in seconds since 1970, oldest first."""
        values = [[str(round(time * 1000) * 1_000_000), line] for time, line in lines]
        body = {"streams": [{"stream": dict(labels), "values": values}]}
        httpx2.post(f"{self.url}/loki/api/v1/push", json=body, headers=_headers(tenant), timeout=60).raise_for_status()

    def get(self, what: str, tenant: str = "", **options: str) -> Any:
        """The data of an answer; `what` is a path under /loki/api/v1. Fails when it is an error."""
        answer = httpx2.get(f"{self.url}/loki/api/v1/{what}", params=options, headers=_headers(tenant), timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


def _headers(tenant: str) -> dict[str, str]:
    return {_TENANT: tenant} if tenant else {}


def _settings(folder: Path, port: int, grpc_port: int, *, tenants: bool) -> dict[str, Any]:
    address = "127.0.0.1"
    ring = {"kvstore": {"store": "inmemory"}, "replication_factor": 1}
    schema = {"store": "boltdb", "object_store": "filesystem", "schema": "v11", "from": "2018-04-15"}
    return {
        "auth_enabled": tenants,
        "server": {
            "http_listen_address": address,
            "http_listen_port": port,
            "grpc_listen_address": address,
            "grpc_listen_port": grpc_port,
        },
        "ingester": {
            "lifecycler": {"address": address, "ring": ring, "min_ready_duration": "0s", "final_sleep": "0s"},
            "max_transfer_retries": 0,
        },
        "schema_config": {"configs": [{**schema, "index": {"prefix": "index_", "period": "168h"}}]},
        "storage_config": {
            "boltdb": {"directory": f"{folder}/index"},
            "filesystem": {"directory": f"{folder}/chunks"},
        },
        "limits_config": {
            "reject_old_samples": False,
            "enforce_metric_name": False,
            "ingestion_rate_mb": 100,
            "ingestion_burst_size_mb": 100,
        },
    }
