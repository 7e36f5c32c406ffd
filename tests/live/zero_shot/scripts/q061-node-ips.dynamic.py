# question: q061-node-ips · style: dynamic · author: a network engineer
node_api = k8s.dynamic().resources.get(api_version="v1", kind="Node")
{
    node.metadata.name: next((a.address for a in node.status.addresses if a.type == "InternalIP"), None)
    for node in node_api.get().items
}
