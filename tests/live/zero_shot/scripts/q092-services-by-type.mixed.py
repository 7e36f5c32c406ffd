# question: q092-services-by-type · style: mixed · author: a network engineer
from itertools import groupby
from operator import attrgetter

by_type = attrgetter("spec.type")
services = sorted(k8s.coreV1().list_service_for_all_namespaces(), key=by_type)
{t: len(list(group)) for t, group in groupby(services, key=by_type)}
