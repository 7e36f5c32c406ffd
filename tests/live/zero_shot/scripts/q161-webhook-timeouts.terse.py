# question: q161-webhook-timeouts · style: terse · author: a security engineer in a hurry
a = k8s.admissionregistrationV1()
{f"{cfg.metadata.name}/{w.name}": w.timeout_seconds
 for cfg in [*a.list_validating_webhook_configuration().items, *a.list_mutating_webhook_configuration().items]
 for w in cfg.webhooks or [] if (w.timeout_seconds or 10) > 10}
