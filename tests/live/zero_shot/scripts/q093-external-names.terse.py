# question: q093-external-names · style: terse · author: an SRE who likes one-liners
{f"{(m := s.metadata).namespace}/{m.name}": s.spec.external_name for s in k8s.coreV1().list_service_for_all_namespaces().items if s.spec.type == "ExternalName"}
