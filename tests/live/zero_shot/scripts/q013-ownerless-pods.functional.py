# question: q013-ownerless-pods · style: functional · author: a Haskell enthusiast
from operator import attrgetter

key = lambda m: "/".join(attrgetter("namespace", "name")(m))
pods = k8s.coreV1().list_pod_for_all_namespaces().items

sorted(map(key, filter(lambda m: not m.owner_references, map(attrgetter("metadata"), pods))))
