"""A plan as a real script leaves it, and a server of the page on which it is approved."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from kubescript.changes import plan
from kubescript.changes.page import access, page, serving
from kubescript.changes.store import store
from kubescript.wire import inspection

APPS: Final = "/apis/apps/v1/namespaces/shop/deployments"
SETTINGS: Final = "\\n".join(
    ["[server]", *(f"option{number} = {number}" for number in range(20)), "timeout = %d", "retry = true"]
)
RELEASE: Final = plan.Finding(
    "writes.registry",
    "critical",
    "the image registry.example.org/shop/web:1.28.0 is of a registry that is not on the list",
)


def step(name: str = "web", *, rows: tuple[inspection.Row, ...] = (), **values: Any) -> plan.Step:
    """A patch of a deployment, unless `values` say otherwise."""
    request = plan.Request(
        "PATCH", f"{APPS}/{name}", (("fieldManager", "kubescript"),), "application/merge-patch+json", "{}"
    )
    facts: dict[str, Any] = {
        "request": request,
        "verb": "patch",
        "group": "apps",
        "version": "v1",
        "resource": "deployments",
        "subresource": "",
        "namespace": "shop",
        "name": name,
        "kind": "Deployment",
        "rows": rows,
    }
    return plan.Step(**{**facts, **values})


def release() -> tuple[plan.Step, ...]:
    """What a release of a shop changes."""
    image = "spec.template.spec.containers[web].image"
    password = "spec.template.spec.containers[web].env[DB_PASSWORD].value"
    restarted = 'spec.template.metadata.annotations["kubectl.kubernetes.io/restartedAt"]'
    return (
        step("web", rows=(inspection.Row("spec.replicas", "3", "6"),), subresource="scale"),
        step(
            "web",
            rows=(
                inspection.Row(
                    image, '"registry.example.org/shop/web:1.27.3"', '"registry.example.org/shop/web:1.28.0"'
                ),
                inspection.Row(password, '"«redacted:password:5e0f»"', '"«redacted:password:91ab»"', masked=True),
                inspection.Row("spec.progressDeadlineSeconds", None, "600", by_server=True),
                inspection.Row(
                    "spec.template.spec.containers[web].imagePullPolicy", '"Always"', '"IfNotPresent"', by_server=True
                ),
            ),
            findings=(RELEASE,),
            warnings=("spec.template.spec.containers[web].env[2]: hides previous definition of LOG_LEVEL",),
        ),
        step(
            "shop-settings",
            request=plan.Request(
                "PATCH", "/api/v1/namespaces/shop/configmaps/shop-settings", (("fieldManager", "kubescript"),)
            ),
            group="",
            resource="configmaps",
            kind="ConfigMap",
            rows=(inspection.Row('data["shop.toml"]', f'"{SETTINGS % 30}"', f'"{SETTINGS % 90}"'),),
            findings=(
                plan.Finding("NO_BROAD_PARTIAL_MANIFESTS", "warning", "one field differs of 23 lines that are sent"),
            ),
        ),
        step("worker", rows=(inspection.Row(restarted, None, '"2026-11-23T09:30:00Z"'),)),
        step(
            "migrate-2711",
            request=plan.Request(
                "DELETE", "/apis/batch/v1/namespaces/shop/jobs/migrate-2711", (("propagationPolicy", "Background"),)
            ),
            verb="delete",
            group="batch",
            resource="jobs",
            kind="Job",
            rows=(inspection.Row("status", '"completed 3 days ago"', None),),
            effects=("pod migrate-2711-x7k2p goes with it",),
        ),
    )


def plan_of(*steps: plan.Step, **values: Any) -> plan.Plan:
    """A plan with these steps."""
    facts: dict[str, Any] = {
        "id": plan.new_id(),
        "author": plan.Author("uid 1000 (alice)", "session-1", "claude-code", "evaluate_script"),
        "context": "kind-dev",
        "cluster": "2f6d3c0e-9a35-4a0c-8f0e-6f1d2b7c9a10",
        "script": "9" * 64,
        "policy": "8" * 64,
        "steps": steps,
        "reads": ("list deployments.apps in namespace shop", "get jobs.batch shop/migrate-2711"),
        "created": time.time() - 170,
        "expires": time.time() + 730,
    }
    return plan.Plan(**{**facts, **values})


@dataclass
class Served:
    """A page that is served, its plans, and which of them it had applied."""

    plans: store.Store
    keys: access.Access
    url: str
    approved: list[str] = field(default_factory=list)

    def add(self, *steps: plan.Step, **values: Any) -> plan.Plan:
        """Keeps a new plan."""
        new = plan_of(*steps, **values)
        self.plans.add(new)
        return new

    def link(self, of: plan.Plan) -> str:
        """A new one-time link to the plan."""
        return access.Link(self.url, self.keys.secret).to(of.id, of.expires)

    def address(self, of: plan.Plan) -> str:
        """Where the plan's page is, for whom it is open."""
        return f"{self.url}{self.keys.path}/plans/{of.id}"


@contextlib.contextmanager
def served(folder: Path, clock: Callable[[], float] = time.time) -> Iterator[Served]:
    """Serves the page with a store of its own."""
    plans = store.Store(str(folder / "plans.db"), clock=clock)
    keys = access.Access()
    opened = Served(plans, keys, "")
    opened.url, close = serving.serve(page.app(plans, opened.approved.append, keys))
    try:
        yield opened
    finally:
        close()
        plans.close()
