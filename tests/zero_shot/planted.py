"""What is true of the fixture by construction, read off its tables by hand: the oracle itself is held against it."""

from __future__ import annotations

from typing import Any

R = "registry.example.com"

# Slug of a question -> its answer, written down without asking the cluster.
PLANTED: dict[str, Any] = {
    "evicted": {"staging": 4},
    "failed-reasons": {"Evicted": 4, "NodeAffinity": 1, "none": 8},
    "latest-images": {
        "ml": ["jupyter/scipy-notebook:latest"], "platform": ["nicolaka/netshoot:latest"],
        "sandbox": ["busybox:latest"], "shop": ["quay.io/tools/imaginary"],
        "staging": ["nginxdemos/hello", f"{R}/shop/storefront:latest"],
    },
    "capabilities": {
        "kube-system/cni/cni": ["NET_ADMIN", "SYS_ADMIN"],
        "platform/ingress-nginx/ingress-nginx": ["NET_BIND_SERVICE"],
    },
    "host-paths": {
        "kube-system/cni": ["/etc/cni/net.d", "/opt/cni/bin"], "kube-system/csi-node": ["/var/lib/kubelet"],
        "kube-system/kube-proxy": ["/lib/modules"], "monitoring/node-exporter": ["/", "/proc", "/sys"],
    },
    "token-automount": {"default": 12, "ghost": 1, "web": 2},
    "same-probes": ["catalog/catalog", "storefront/storefront"],
    "debug-logging": ["payments/exporter", "shop/orders"],
    "long-grace": {
        "payments/Deployment/reconciler": 600, "platform/StatefulSet/vault": 180, "shop/Deployment/wishlist": 300,
    },
    "run-as-non-root": [
        "api/istio-proxy", "exporter/exporter", "gateway/gateway", "gateway/istio-proxy", "reconciler/istio-proxy",
        "reconciler/reconciler", "wallet/istio-proxy", "wallet/wallet", "webhooks/webhooks",
    ],
    "node-conditions": {"worker-c1": ["DiskPressure", "PIDPressure"], "worker-c2": ["Ready"]},
    "not-ready-since": {"worker-c2": 5},
    "kubelet-versions": {"v1.36.3": 6, "v1.35.6": 2},
    "zone-cores": {"eu-west-1a": 19.76, "eu-west-1b": 31.84, "eu-west-1c": 31.76},
    "gpu": {"allocatable": 4, "requested": 3},
    "untolerated-taints": {
        "data/clickhouse-2": ["cp-1", "gpu-c1", "worker-b2", "worker-c1", "worker-c2"],
        "ml/trainer-8kbhm": ["cp-1", "worker-b2", "worker-c1", "worker-c2"],
        "payments/postgres-2": ["cp-1", "gpu-c1", "worker-b2", "worker-c1", "worker-c2"],
    },
    "node-exporter-nodes": ["gpu-c1", "worker-b2"],
    "stale-node-leases": ["worker-c2", "worker-old"],
    "drain-blockers": {
        "worker-a1": ["payments/ledger-0"], "worker-a2": ["platform/vault-1"],
        "worker-b1": ["payments/ledger-1", "platform/vault-0"], "worker-c1": ["payments/ledger-2", "platform/vault-2"],
    },
    "storefront-zones": {"zones": {"eu-west-1a": 5, "eu-west-1b": 3, "eu-west-1c": 1}, "skew": 4},
    "paused": ["shop/image-resizer"],
    "scaled-to-zero": ["shop/Deployment/promo", "staging/Deployment/old-ui"],
    "generation-lag": {"shop/search": 1, "staging/web": 2},
    "recreate": ["payments/reconciler"],
    "mixed-replicasets": {"shop/checkout": 2},
    "checkout-history": {
        "1": f"{R}/shop/checkout:0.88.0", "2": f"{R}/shop/checkout:0.89.0", "3": f"{R}/shop/checkout:3.1.0",
    },
    "statefulset-updates": {"data/zookeeper": "2/3", "payments/ledger": "1/3"},
    "statefulset-service": {"payments/postgres": "postgres-hl"},
    "claim-templates": {
        "data/clickhouse": 200, "data/kafka": 100, "monitoring/loki": 55, "payments/postgres": 200, "shop/redis": 10,
    },
    "failed-jobs": {
        "batch/backfill": "BackoffLimitExceeded", "batch/import-29310": "BackoffLimitExceeded",
        "batch/nightly-report-29300": "DeadlineExceeded", "batch/sync-stock-29100": "BackoffLimitExceeded",
    },
    "cronjob-last-failed": ["batch/import", "batch/sync-stock"],
    "cronjob-overdue": ["batch/billing", "batch/sync-stock"],
    "job-durations": {
        "cleanup-29000": 42, "import-29308": 149, "import-29309": 130, "migration-2026-10": 1810,
        "migration-2026-11": 3605, "nightly-report-29299": 1310, "nightly-report-29301": 754,
    },
    "cronjob-average": {"cleanup": 0.7, "import": 2.3, "nightly-report": 17.2},
    "jobs-to-clean": ["batch/cleanup-29000", "batch/migration-2026-11"],
    "loadbalancer-pending": ["shop/storefront-public"],
    "target-ports": ["monitoring/kube-state-metrics:http-metrics", "payments/gateway:grpc"],
    "ingress-missing-service": ["payments/portal -> portal", "staging/demo -> demo-old"],
    "ingress-missing-port": ["payments/gateway -> gateway:rest", "shop/search -> search:8080"],
    "duplicate-hosts": {"storefront.example.com": ["preview-42/web", "shop/storefront"]},
    "ingress-no-tls": ["staging/demo", "staging/web"],
    "netpol-selects-none": ["payments/old-database", "shop/allow-legacy", "staging/unlabelled"],
    "pvc-missing-class": {"data/data-clickhouse-2": "nvme", "monitoring/prometheus-archive": "standard"},
    "pvc-unused": ["legacy/uploads", "monitoring/prometheus-archive", "sandbox/scratch", "staging/data-old-0"],
    "pvc-resize": {"data/data-kafka-0": ["100Gi", "200Gi"]},
    "quota-90": [
        ["batch/objects", "count/jobs.batch", 94.0], ["payments/compute", "requests.memory", 95.3],
        ["staging/compute", "pods", 93.3], ["staging/compute", "requests.cpu", 95.0],
    ],
    "hpa-over-target": {"payments/api": [82, 75], "shop/storefront": [96, 70]},
    "hpa-missing-target": {"platform/vault": "StatefulSet/vault-ha", "staging/gone": "Deployment/retired"},
    "pdb-blocking": ["payments/ledger", "platform/vault"],
    "no-pdb-payments": ["exporter", "fraud", "gateway", "wallet", "webhooks"],
    "secret-readers": ["batch/ci-deployer", "platform/argocd", "platform/old-argocd", "platform/vault"],
    "dangling-rolebindings": {"payments/old-team": "Role/payments-dev", "staging/ops": "ClusterRole/ops-view"},
    "ghost-subjects": ["data/spark", "platform/old-argocd", "staging/ci-bot"],
    "exec-payments": [
        "Group:payments-oncall", "ServiceAccount:ops", "User:bob@example.com", "User:carol@example.com",
    ],
    "missing-configmaps": ["monitoring/grafana-dashboards", "payments/gateway-routes-v2", "staging/web-env"],
    "unused-configmaps": ["legacy-app", "release"],
    "secrets-referenced": ["image-pull", "ledger-signing", "payments-api", "postgres-superuser", "wallet-db"],
    "missing-service-accounts": ["data/airflow-worker", "staging/ghost"],
    "last-event": "Rollout of revision 2 is stuck: 0 of 3 updated",
    "certs-30-days": [
        ["staging/web-tls", -3], ["payments/portal-tls", 3], ["data/kafka-tls", 12], ["monitoring/grafana-tls", 29],
    ],
    "cert-issuers": {"payments/gateway-tls": "ClusterIssuer/corp", "staging/api-tls": "Issuer/internal"},
    "tenants": {"beta": ["beta-dev"], "gamma": ["gamma-dev", "gamma-prod"]},
    "crd-empty": ["backups.velero.io", "databases.example.com"],
    "webhooks-dead": [
        "policy/deny.policy.example.com", "recommender/hints.shop.example.com", "retired/old.retired.example.com",
    ],
    "one-node-deployments": {"ml/labeler": "worker-a2", "shop/email-worker": "worker-b1"},
    "stuck-namespaces": {"legacy": ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"]},
    "young-namespaces": ["preview-42", "sandbox"],
    "lost-node-timeline": [
        "created", "condition DiskPressure", "condition MemoryPressure", "condition NetworkUnavailable",
        "condition PIDPressure", "condition Ready", "lease renewed", "event NodeNotReady", "event LeaseNotRenewed",
    ],
    "shop-configmap-uses": {
        "catalog-config": ["Deployment/catalog:projected"], "common": ["Deployment/orders:env"],
        "feature-flags": ["Deployment/storefront:envFrom", "Deployment/wishlist:envFrom"],
        "nginx-conf": ["Deployment/image-resizer:env"],
    },
    "ingress-certificates": {
        "data/airflow": "none", "monitoring/grafana": "Ready", "payments/gateway": "Ready",
        "payments/portal": "DoesNotExist", "preview-42/web": "Pending", "shop/search": "none",
        "shop/storefront": "Ready", "staging/web": "Expired",
    },
    "shared-repositories": {
        "docker.io/istio/proxyv2": ["payments", "shop"], "docker.io/library/busybox": ["data", "sandbox"],
        f"{R}/batch/report": ["batch", "staging"], f"{R}/payments/api": ["payments", "staging"],
        f"{R}/shop/email-worker": ["shop", "staging"],
        f"{R}/shop/storefront": ["preview-42", "shop", "staging"],
    },
    "revision-tags": {
        "payments/api": "0.89.0 -> 11.3.0", "payments/fraud": "0.89.0 -> 0.4.0",
        "platform/policy-webhook": "0.89.0 -> 0.7.0", "shop/cart": "0.89.0 -> 2.4.1",
        "shop/checkout": "0.89.0 -> 3.1.0", "shop/promo": "0.89.0 -> 1.0.0",
        "shop/recommendations": "0.89.0 -> 2.0.0-rc9", "shop/storefront": "0.89.0 -> 5.2.0",
        "staging/old-ui": "0.89.0 -> 4.9.0",
    },
    "undeclared-ports": {
        "kube-system/coredns": ["53"], "monitoring/grafana": ["3000"],
        "monitoring/kube-state-metrics": ["http-metrics"], "payments/gateway": ["grpc"],
        "platform/ingress-nginx": ["443", "80"],
    },
    "network-sources": {
        **{f"shop/{app}": [] for app in (
            "cart", "catalog", "checkout", "email-worker", "image-resizer", "orders", "recommendations", "redis",
            "search", "wishlist",
        )},
        **{f"payments/{app}": ["*"] for app in (
            "exporter", "fraud", "postgres", "reconciler", "wallet", "webhooks",
        )},
        "payments/api": ["monitoring", "platform"], "payments/gateway": ["monitoring", "platform"],
        "payments/ledger": [], "shop/storefront": ["monitoring", "platform"],
    },
    "delete-pods-payments": [
        "Group:platform-team", "Group:sre", "ServiceAccount:batch/ci-deployer", "ServiceAccount:platform/vault",
        "User:alice@example.com", "User:carol@example.com",
    ],
    "cert-lifetime-used": [
        ["staging/web-tls", 102.9], ["payments/portal-tls", 96.2], ["data/kafka-tls", 86.2],
        ["monitoring/grafana-tls", 67.3],
    ],
    "misspelt-name": ["NetworkPolicy/shop/allow-legacy", "Service/shop/storefront-v2"],
}  # fmt: skip
