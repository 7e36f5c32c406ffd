# question: q139-priority-classes · style: functional · author: a one-liner fan
from operator import itemgetter

sorted(
    ([pc.metadata.name, pc.value]
     for pc in k8s.schedulingV1().list_priority_class().items
     if not pc.metadata.name.startswith("system-")),
    key=itemgetter(1),
    reverse=True,
)
