# question: q105-pvc-phases · style: classes · author: a backend developer who models everything
from collections import namedtuple

Claim = namedtuple("Claim", "namespace name phase")
claims = [
    Claim(c.metadata.namespace, c.metadata.name, c.status.phase)
    for c in k8s.coreV1().list_persistent_volume_claim_for_all_namespaces().items
]
dict(Counter(c.phase for c in claims))
