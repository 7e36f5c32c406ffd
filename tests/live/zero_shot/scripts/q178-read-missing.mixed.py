# question: q178-read-missing · style: mixed · author: a tester
from kubernetes.client.rest import ApiException

try:
    k8s.appsV1().read_namespaced_deployment("does-not-exist", "shop")
    code = 200
except ApiException as e:
    code = e.status
code
