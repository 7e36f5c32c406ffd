import re
from functools import partial
from itertools import chain
from operator import attrgetter, methodcaller

core = k8s.coreV1()
ACCESS = re.compile(r'^\S+ \S+ \S+ (?:\[[^\]]*\] )?"[^"]*" (\d{3}) (?:\d+|-)')

names = map(attrgetter("metadata.name"),
            core.list_namespaced_pod("shop", label_selector="app=catalog").items)
readers = [partial(core.read_namespaced_pod_log, name, "shop", container="istio-proxy") for name in names]
logs = filter(lambda x: isinstance(x, str), k8s.parallel(readers))
matches = filter(None, map(ACCESS.match, chain.from_iterable(map(methodcaller("splitlines"), logs))))
dict(Counter(map(methodcaller("group", 1), matches)))
