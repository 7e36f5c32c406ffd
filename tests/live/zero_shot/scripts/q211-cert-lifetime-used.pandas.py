from datetime import datetime, timezone

now = datetime.now(timezone.utc)
parse = lambda s: datetime.fromisoformat(s.replace("Z", "+00:00"))

rows = []
for c in k8s.get("certificates.cert-manager.io"):
    st = c.status or {}
    nb, na = st.get("notBefore"), st.get("notAfter")
    if not nb or not na:
        continue
    nb, na = parse(nb), parse(na)
    rows.append({
        "cert": f"{c.metadata.namespace}/{c.metadata.name}",
        "share": (now - nb) / (na - nb),
    })

rows = [r for r in rows if r["share"] > 2 / 3]
rows.sort(key=lambda r: (-r["share"], r["cert"]))
[[r["cert"], round(r["share"] * 100, 1)] for r in rows]
