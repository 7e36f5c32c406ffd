# question: q129-wildcard-roles · style: terse · author: a security engineer in a hurry
sorted(f"{r.metadata.namespace}/{r.metadata.name}" for r in k8s.rbacV1().list_role_for_all_namespaces().items
       if not r.metadata.namespace.startswith("kube-") and any("*" in (x.verbs or []) and "*" in (x.resources or []) for x in r.rules or []))
