# question: q179-kube-system-report · style: terse · author: an SRE who likes one-liners
"\n".join(f"{d.metadata.name}: {d.status.number_ready or 0}/{d.status.desired_number_scheduled}" for d in sorted(k8s.appsV1().list_namespaced_daemon_set("kube-system").items, key=lambda d: d.metadata.name))
