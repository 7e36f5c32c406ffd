# question: q160-webhooks-dead · style: mixed · author: an admission-control specialist
adm = k8s.admissionregistrationV1()
vwc, mwc, slices = k8s.parallel([
    lambda: adm.list_validating_webhook_configuration(),
    lambda: adm.list_mutating_webhook_configuration(),
    lambda: k8s.discoveryV1().list_endpoint_slice_for_all_namespaces(),
])
alive = {
    (s.metadata.namespace, s.metadata.labels.get("kubernetes.io/service-name"))
    for s in slices
    if any(e.conditions.ready is True for e in s.endpoints)
}
sorted(
    f"{cfg.metadata.name}/{w.name}"
    for cfg in [*vwc, *mwc]
    for w in cfg.webhooks
    if w.failure_policy == "Fail"
    and (svc := w.client_config.service)
    and (svc.namespace, svc.name) not in alive
)
