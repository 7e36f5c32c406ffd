# question: q157-api-multi-version · style: functional · author: an API explorer
groups = k8s.discovery().groups()
versions = lambda g: sorted(map(lambda v: v.version, g.versions))
dict((g.name, versions(g)) for g in groups if len(g.versions) > 1)
