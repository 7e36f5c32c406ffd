"""Texts as clusters log and hold them: klog, logfmt, JSON, nginx, Java, events, ConfigMaps. Nothing in them is secret, and many
of their lines speak of tokens and Secrets. Always the same for the same size."""

from __future__ import annotations

import json
import random
from collections.abc import Callable

__all__ = ["LISTS", "LOGS", "listed", "logged"]

NAMESPACES = (
    "default",
    "kube-system",
    "prod-orders",
    "payments",
    "monitoring",
    "ingress-nginx",
    "team-a",
    "cert-manager",
)
APPS = (
    "web",
    "orders",
    "checkout",
    "coredns",
    "prometheus",
    "api-gateway",
    "token-service",
    "secrets-store-csi",
    "auth-proxy",
)
SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of names that controllers generate."""
MEGABYTE = 1_000_000


class Draw:
    """Values as they stand in a cluster."""

    def __init__(self) -> None:
        # One seed for all: two runs measure the same text.
        self.chance = random.Random("ordinary")

    def hex(self, size: int) -> str:
        return f"{self.chance.getrandbits(4 * size):0{size}x}"

    def one(self, *choices: str) -> str:
        return self.chance.choice(choices)

    def number(self, most: int) -> int:
        return self.chance.randrange(1, most)

    def app(self) -> str:
        return self.one(*APPS)

    def namespace(self) -> str:
        return self.one(*NAMESPACES)

    def suffix(self) -> str:
        letters = self.chance.choices(SUFFIX, k=5)
        return "".join(letters)

    def pod(self) -> str:
        return f"{self.app()}-{self.hex(9)}-{self.suffix()}"

    def uid(self) -> str:
        return "-".join(self.hex(size) for size in (8, 4, 4, 4, 12))

    def time(self) -> str:
        hour = self.number(24)
        minute = self.number(60)
        second = self.number(60)
        return f"{hour:02}:{minute:02}:{second:02}.{self.number(10**6):06}"


def klog(of: Draw) -> str:
    said = of.one(
        f'kubelet.go:2345] "SyncLoop (PLEG): event for pod" pod="{of.namespace()}/{of.pod()}" event={{"ID":"{of.uid()}","Type":"ContainerStarted","Data":"{of.hex(64)}"}}',
        f'reconciler_common.go:245] "VerifyControllerAttachedVolume started for volume \\"kube-api-access-{of.suffix()}\\" pod \\"{of.pod()}\\" (UID: \\"{of.uid()}\\") "',
        f'controller.go:615] "Reconciling" controller="deployment" controllerKind="Deployment" Deployment="{of.namespace()}/{of.app()}" reconcileID="{of.uid()}"',
        f'httplog.go:132] "HTTP" verb="GET" URI="/api/v1/namespaces/{of.namespace()}/secrets/{of.app()}-tls" latency="{of.number(900)}ms" audit-ID="{of.uid()}" resp=200',
        f'reflector.go:359] Caches populated for *v1.Secret from object-"{of.namespace()}"/"{of.app()}-token"',
    )
    return f"{of.one('I', 'I', 'W', 'E')}0315 {of.time()}       1 {said}"


def logfmt(of: Draw) -> str:
    # Hexadecimal digits of 32 or 64 are ids and digests here, although keys look the same.
    said = of.one(
        f'msg="Reconciliation completed" application={of.app()} dest-server="https://kubernetes.default.svc" git_ms={of.number(99)} time_ms={of.number(999)}',
        f'msg="request handled" method=GET path=/api/v1/orders/{of.number(10**6)} status=200 duration={of.number(999)}ms trace_id={of.hex(32)}',
        f'msg="Start watch Secret resources" account=default namespace={of.namespace()} revision={of.number(10**6)}',
        f'msg="token refreshed" user=system:serviceaccount:{of.namespace()}:{of.app()} ttl=3600s caller=token.go:{of.number(300)}',
    )
    return f'time="2026-03-15T{of.time()}Z" level={of.one("info", "debug", "warning")} {said}'


def json_lines(of: Draw) -> str:
    said = of.one("Reconciling", "Starting workers", "request completed", "token valid", "secret synced")
    line = {"level": "info", "ts": f"2026-03-15T{of.time()}Z", "caller": f"controller.go:{of.number(400)}", "msg": said, "controller": "externalsecret", "namespace": of.namespace(), "name": of.app(), "reconcileID": of.uid(), "status": 200, "key": f"{of.namespace()}/{of.app()}"}  # fmt: skip
    return json.dumps(line, separators=(",", ":"))


def nginx(of: Draw) -> str:
    # Paths with the words that rules for secrets look for.
    path = of.one("orders", "users", "login", "oauth/token", "cart")
    return (
        f"10.0.{of.number(255)}.{of.number(255)} - - [15/Mar/2026:{of.time()[:8]} +0000] "
        f'"GET /api/{path}/{of.number(10**5)}?page={of.number(9)}&sort=name HTTP/1.1" 200 {of.number(9999)} "https://shop.example.com/" '
        f'"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36" {of.number(900)} 0.{of.number(999):03} [{of.namespace()}-{of.app()}-80] 200 {of.hex(32)}'
    )


def java(of: Draw) -> str:
    head = f"2026-03-15 {of.time()[:12]}  INFO {of.number(9)} --- [nio-8080-exec-{of.number(30)}]"
    return of.one(
        f"{head} c.e.shop.orders.OrderController           : Order {of.uid()} created for customer {of.number(10**6)}",
        f"\tat org.springframework.security.web.authentication.UsernamePasswordAuthenticationFilter.doFilter(UsernamePasswordAuthenticationFilter.java:{of.number(400)})",
        f"\tat org.apache.catalina.core.ApplicationFilterChain.internalDoFilter(ApplicationFilterChain.java:{of.number(400)}) ~[tomcat-embed-core-10.1.19.jar!/:na]",
        f"{head} o.s.s.w.a.AuthenticationTokenFilter        : Token validated for principal user{of.number(9999)} roles=[USER, ADMIN]",
        f"{head} com.zaxxer.hikari.pool.HikariPool          : HikariPool-1 - Thread starvation (housekeeper delta={of.number(99)}s)",
    )


def event(of: Draw) -> dict[str, object]:
    pod, namespace = of.pod(), of.namespace()
    message = of.one(
        f'MountVolume.SetUp failed for volume "tls" : secret "{pod}-tls" not found',
        f'Container image "registry.example.com/{of.app()}:{of.hex(8)}" already present on machine',
        f"Back-off restarting failed container web in pod {pod}",
        f"Error: couldn't find key password in Secret {namespace}/{of.app()}-db",
    )
    times = dict.fromkeys(("firstTimestamp", "lastTimestamp"), "2026-03-01T10:00:00Z")
    about = {"kind": "Pod", "namespace": namespace, "name": pod, "uid": of.uid(), "fieldPath": "spec.containers{web}"}
    metadata = {
        "name": f"{pod}.{of.hex(16)}",
        "namespace": namespace,
        "uid": of.uid(),
        "resourceVersion": str(of.number(10**7)),
    }
    return {"metadata": metadata, "involvedObject": about, "reason": "BackOff", "message": message, "source": {"component": "kubelet"}, **times, "count": of.number(99), "type": "Warning"}  # fmt: skip


FILES = (
    "server {\n  listen 80;\n  location / {\n    proxy_pass http://web:8080;\n    proxy_set_header Authorization $http_authorization;\n  }\n}\n",
    "spring:\n  datasource:\n    url: jdbc:postgresql://db:5432/app\n    username: app\n    password: ${DB_PASSWORD}\nlogging:\n  level:\n    root: INFO\n",
    "scrape_configs:\n- job_name: web\n  bearer_token_file: /var/run/secrets/kubernetes.io/serviceaccount/token\n  kubernetes_sd_configs:\n  - role: pod\n",
    ".:53 {\n    errors\n    ready\n    kubernetes cluster.local in-addr.arpa {\n       ttl 30\n    }\n    forward . /etc/resolv.conf\n    cache 30\n}\n",
)


def config_map(of: Draw) -> dict[str, object]:
    panels = [
        {"title": "CPU", "targets": [{"expr": "sum(rate(container_cpu_usage_seconds_total[5m])) by (pod)"}], "id": at}
        for at in range(6)
    ]
    # A setting named like a secret whose value is a number of seconds, and JSON within JSON.
    data = {"config": of.one(*FILES), "LOG_LEVEL": "info", "TOKEN_TTL": "3600", "dashboard.json": json.dumps(panels)}
    return {"metadata": {"name": f"{of.app()}-config", "namespace": of.namespace(), "uid": of.uid()}, "data": data}


LOGS: dict[str, Callable[[Draw], str]] = {
    "klog": klog,
    "logfmt": logfmt,
    "JSON": json_lines,
    "nginx": nginx,
    "Java": java,
}
LISTS: dict[str, Callable[[Draw], dict[str, object]]] = {"events": event, "ConfigMaps": config_map}


def logged(name: str, size: int) -> bytes:
    """A log of about this size: a megabyte of it, again and again."""
    lines = _write(lambda of: LOGS[name](of) + "\n", min(size, MEGABYTE))
    return "".join(lines).encode() * max(1, size // MEGABYTE)


def listed(name: str, size: int) -> bytes:
    """A list of about this size, likewise."""
    parts = _write(lambda of: json.dumps(LISTS[name](of), separators=(",", ":")), min(size, MEGABYTE))
    items = ",".join(parts * max(1, size // MEGABYTE))
    return f'{{"kind":"List","apiVersion":"v1","metadata":{{}},"items":[{items}]}}'.encode()


def _write(make: Callable[[Draw], str], size: int) -> list[str]:
    """Texts one after the other, until they are so long together."""
    of = Draw()
    parts: list[str] = []
    written = 0
    while written < size:
        part = make(of)
        parts.append(part)
        written += len(part)
    return parts
