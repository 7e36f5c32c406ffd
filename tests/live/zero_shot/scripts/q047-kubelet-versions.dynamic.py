# question: q047-kubelet-versions · style: dynamic · author: an operator developer used to the DynamicClient
node_api = k8s.dynamic().resources.get(api_version="v1", kind="Node")
Counter([n.status.nodeInfo.kubeletVersion for n in node_api.get().items])
