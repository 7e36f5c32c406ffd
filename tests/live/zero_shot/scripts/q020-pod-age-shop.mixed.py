# question: q020-pod-age-shop · style: mixed · author: a platform engineer writing a small script
from statistics import median

ages = [age(p) for p in k8s.coreV1().list_namespaced_pod("shop")]
seconds = sorted(a.total_seconds() for a in ages)
day = timedelta(days=1)
{"oldest": max(ages) // day, "newest": min(ages) // day, "median": int(median(seconds) // 86400)}
