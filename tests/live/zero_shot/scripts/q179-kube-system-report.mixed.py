# question: q179-kube-system-report · style: mixed · author: a report writer
ds = sorted(k8s.appsV1().list_namespaced_daemon_set("kube-system"), key=lambda d: d.metadata.name)
"\n".join(f"{d.metadata.name}: {d.status.number_ready}/{d.status.desired_number_scheduled}" for d in ds)
