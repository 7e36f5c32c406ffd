# question: q115-limit-range-memory · style: dynamic · author: a namespace admin
out = {}
for lr in k8s.get("limitranges"):
    for item in lr.spec.limits or []:
        if item.type == "Container" and item.default and item.default.get("memory"):
            out[lr.metadata.namespace] = item.default["memory"]
out
