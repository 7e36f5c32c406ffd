# question: q135-immutable-configmaps · style: dynamic · author: an operator developer used to the DynamicClient
cms = k8s.dynamic().resources.get(api_version="v1", kind="ConfigMap").get()
sorted("{0.namespace}/{0.name}".format(cm.metadata) for cm in cms.items if cm.immutable)
