# question: q119-hpa-missing-target · style: classes · author: an inventory builder
class Inventory:
    def __init__(self):
        apps = k8s.appsV1()
        self._known = {
            "Deployment": self._names(apps.list_deployment_for_all_namespaces()),
            "StatefulSet": self._names(apps.list_stateful_set_for_all_namespaces()),
        }

    @staticmethod
    def _names(items):
        return {(o.metadata.namespace, o.metadata.name) for o in items.items}

    def __contains__(self, ref) -> bool:
        kind, ns, name = ref
        return kind not in self._known or (ns, name) in self._known[kind]


inventory = Inventory()
missing = {}
for hpa in k8s.autoscalingV2().list_horizontal_pod_autoscaler_for_all_namespaces().items:
    target = hpa.spec.scale_target_ref
    if (target.kind, hpa.metadata.namespace, target.name) not in inventory:
        missing[f"{hpa.metadata.namespace}/{hpa.metadata.name}"] = f"{target.kind}/{target.name}"
missing
