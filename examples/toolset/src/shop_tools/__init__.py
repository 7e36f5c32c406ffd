"""The toolset `shop`: two tools, each a script that runs in kubescript's sandbox under the operator's policy."""

from kubescript.toolsets import base

NAMESPACE = {"type": "string", "description": "namespace; the default one when left out"}

IMAGES = """
pods = k8s.coreV1().list_namespaced_pod(arguments.get("namespace") or namespace)
Counter(c.image for p in pods for c in p.spec.containers)
"""

RESTARTS = """
pods = k8s.coreV1().list_namespaced_pod(arguments.get("namespace") or namespace)
rows = [
    {"pod": p.metadata.name, "container": s.name, "restarts": s.restart_count}
    for p in pods for s in p.status.container_statuses
    if s.restart_count >= arguments.get("least", 1)
]
table(top(rows, "restarts", 20)) if rows else "no restarts"
"""


def toolset(access: base.Access) -> base.Toolset:
    """Return the toolset. `access` runs scripts; it has no cluster, no settings and no credentials."""
    tools = (
        base.make_tool(
            access,
            "shop_images",
            "Images in use, with the number of containers of each",
            properties={"namespace": NAMESPACE},
            required=(),
            script=IMAGES,
        ),
        base.make_tool(
            access,
            "shop_restarts",
            "Containers that have restarted, the worst first",
            properties={"namespace": NAMESPACE, "least": {"type": "integer", "minimum": 1, "default": 1}},
            required=(),
            script=RESTARTS,
        ),
    )
    return base.Toolset("shop", "tools of the shop's team", tools)
