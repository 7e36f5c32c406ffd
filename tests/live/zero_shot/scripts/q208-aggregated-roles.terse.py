R = k8s.rbacV1().list_cluster_role()
{a.metadata.name: sorted(r.metadata.name for r in R if r.metadata.name != a.metadata.name and any(all((r.metadata.labels or {}).get(k) == v for k, v in (s.match_labels or {}).items()) for s in a.aggregation_rule.cluster_role_selectors or [])) for a in R if a.aggregation_rule}
