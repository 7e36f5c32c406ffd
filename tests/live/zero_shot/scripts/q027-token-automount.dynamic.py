# question: q027-token-automount · style: dynamic · author: an operator developer used to the DynamicClient
dyn = k8s.dynamic()
pod_api = dyn.resources.get(api_version="v1", kind="Pod")
sa_api = dyn.resources.get(api_version="v1", kind="ServiceAccount")

accounts = {sa.metadata.name: sa.automountServiceAccountToken for sa in sa_api.get(namespace="staging").items}
counts = {}
for pod in pod_api.get(namespace="staging").items:
    sa = pod.spec.serviceAccountName or "default"
    mounted = pod.spec.automountServiceAccountToken
    if mounted is None:
        mounted = accounts.get(sa)
    if mounted is None:
        mounted = True
    if mounted:
        counts[sa] = counts.get(sa, 0) + 1
counts
