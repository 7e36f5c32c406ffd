# question: q165-stuck-namespaces · style: terse · author: an SRE who likes one-liners
{n.metadata.name: sorted(c.type for c in n.status.conditions or [] if c.status == "True") for n in k8s.coreV1().list_namespace().items if n.status.phase == "Terminating"}
