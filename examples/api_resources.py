# What this cluster serves beyond the built-in groups.
sorted(
    {
        (r.group_version, r.kind)
        for r in k8s.discovery().api_resources()
        if "." in r.group_version and "k8s.io" not in r.group_version
    }
)
