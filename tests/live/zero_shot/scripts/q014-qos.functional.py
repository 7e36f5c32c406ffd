# question: q014-qos · style: functional · author: a functional data wrangler
from collections import Counter
from operator import attrgetter

dict(Counter(map(attrgetter("status.qos_class"), k8s.coreV1().list_pod_for_all_namespaces().items)))
