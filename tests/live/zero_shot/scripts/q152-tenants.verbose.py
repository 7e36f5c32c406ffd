# question: q152-tenants · style: verbose · author: a careful enterprise engineer
from typing import Any, Dict, List, Set

from kubernetes import client
from kubernetes.client.rest import ApiException


def existing_namespaces() -> Set[str]:
    """Names of all namespaces."""
    return {ns.metadata.name for ns in client.CoreV1Api().list_namespace().items}


def load_tenants() -> List[Dict[str, Any]]:
    """All tenants as dictionaries."""
    api = client.CustomObjectsApi()
    try:
        response = api.list_cluster_custom_object(
            group="platform.example.com", version="v1", plural="tenants"
        )
    except ApiException as exc:
        if exc.status == 404:
            return []
        raise
    return response["items"]


def main() -> Dict[str, List[str]]:
    """Missing namespaces by tenant."""
    present = existing_namespaces()
    result: Dict[str, List[str]] = {}
    for tenant in load_tenants():
        wanted = tenant.get("spec", {}).get("namespaces", [])
        missing = sorted(set(wanted) - present)
        if missing:
            result[tenant["metadata"]["name"]] = missing
    return result


main()
