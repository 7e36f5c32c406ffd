# question: q161-webhook-timeouts · style: mixed · author: an admission-control auditor
adm = k8s.admissionregistrationV1()
configs = k8s.parallel([adm.list_validating_webhook_configuration, adm.list_mutating_webhook_configuration])
{
    f"{cfg.metadata.name}/{w.name}": w.timeout_seconds
    for lst in configs
    for cfg in lst
    for w in cfg.webhooks
    if (w.timeout_seconds or 10) > 10
}
