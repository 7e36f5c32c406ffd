"""What the examples of the official client's repository do works in a script; what cannot says what to write instead.

Each entry is named after an example file of kubernetes-client/python and keeps its behaviour, in words of ours. They
run on the real API server; those that write do so as dry runs, on a server that may.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import anyio
import kubernetes
import pytest

from tests.kit import clients
from tests.kit.controlplane import cluster, official_client, shared

DEPLOYMENT = """
from kubernetes import client, config
config.load_kube_config()
apps = client.AppsV1Api()
def make(kind, spec_class, **more):
    container = client.V1Container(name="app", image="app:1", image_pull_policy="IfNotPresent",
        ports=[client.V1ContainerPort(container_port=80)],
        resources=client.V1ResourceRequirements(requests={"cpu": "100m", "memory": "200Mi"}))
    template = client.V1PodTemplateSpec(metadata=client.V1ObjectMeta(labels={"app": "x"}), spec=client.V1PodSpec(containers=[container]))
    spec = spec_class(template=template, selector=client.V1LabelSelector(match_labels={"app": "x"}), **more)
    return kind(api_version="apps/v1", kind="Any", metadata=client.V1ObjectMeta(name="x"), spec=spec)
"""
DYNAMIC = """
from kubernetes import config, dynamic
from kubernetes.client import api_client
client = dynamic.DynamicClient(api_client.ApiClient(configuration=config.load_kube_config()))
"""
REFUSED = "this server is read-only"


@dataclass(frozen=True)
class Example:
    """A script, what its answer must contain (regular expressions), and whether the server lets it write."""

    script: str
    shows: tuple[str, ...]
    writes: bool = False


EXAMPLES: dict[str, Example] = {
    "out_of_cluster_config.py": Example(
        "from kubernetes import client, config\n"
        "def main():\n    config.load_kube_config()\n    v1 = client.CoreV1Api()\n"
        "    for i in v1.list_pod_for_all_namespaces(watch=False).items:\n"
        "        print('%s\\t%s\\t%s' % (i.status.pod_ip, i.metadata.namespace, i.metadata.name))\n"
        "if __name__ == '__main__':\n    main()",
        (r"10\.\d+\.\d+\.\d+\tshop\tstorefront-",),
    ),
    "in_cluster_config.py": Example(
        "from kubernetes import client, config\nconfig.load_incluster_config()\n"
        "print(len(client.CoreV1Api().list_pod_for_all_namespaces(watch=False).items))",
        ("^{pods}$",),
    ),
    "remote_cluster.py": Example(
        "from kubernetes import client\nc = client.Configuration()\nc.host = 'https://1.2.3.4'\nc.verify_ssl = False\n"
        "c.api_key = {'authorization': 'Bearer x'}\nv1 = client.CoreV1Api(client.ApiClient(c))\n"
        "[i.metadata.name for i in v1.list_node().items]",
        ("node-a1",),  # the server's own cluster: neither address nor token of a script means anything
    ),
    "enable_debug_logging.py": Example(
        DEPLOYMENT + "c = client.Configuration()\nc.debug = True\napps = client.AppsV1Api(api_client=client.ApiClient(configuration=c))\n"
        "try:\n    apps.create_namespaced_deployment(namespace='default', body=make(client.V1Deployment, client.V1DeploymentSpec))\n"
        "except client.exceptions.ApiException as e:\n    print('failed:', e)",
        (f"failed: 403 policy.read_only.*{REFUSED}",),
    ),
    "api_discovery.py": Example(
        "from kubernetes import client, config\nconfig.load_kube_config()\nprint(f\"{'core':<10} {','.join(client.CoreApi().get_api_versions().versions)}\")\n"
        "for api in client.ApisApi().get_api_versions().groups:\n    versions = []\n    for v in api.versions:\n"
        "        mark = '*' if v.version == api.preferred_version.version and len(api.versions) > 1 else ''\n        versions.append(mark + v.version)\n"
        "    print(f\"{api.name:<40} {','.join(versions)}\")",
        (r"^core       v1$", r"^apps +v1$", r"^autoscaling +\*v2,v1$", r"^cert-manager\.io +v1$"),
    ),
    "pick_kube_config_context.py": Example(
        "from pick import pick\nfrom kubernetes import config\ncontexts, active = config.list_kube_config_contexts()\npick([c['name'] for c in contexts])",
        (r"ModuleNotFoundError: .*nobody can be asked: k8s\.contexts\(\) names the clusters",),
    ),
    "pod_config_list.py": Example(
        "from kubernetes import client, config\nfrom kubernetes.client import configuration\ncontexts, active = config.list_kube_config_contexts()\n"
        "names = [c['name'] for c in contexts]\nconfig.load_kube_config(context=names[names.index(active['name'])])\n"
        "print(f'Active host is {configuration.Configuration().host}')\nlen(client.CoreV1Api().list_pod_for_all_namespaces(watch=False).items)",
        ("Active host is", "^{pods}$"),
    ),
    "multiple_clusters.py": Example(
        "from kubernetes import client, config\ncontexts, active = config.list_kube_config_contexts()\n"
        "one = client.CoreV1Api(api_client=config.new_client_from_config(context=active['name']))\nlen(one.list_node().items)",
        (r"^6$",),
    ),
    "pod_logs.py": Example(
        "from kubernetes import client, config\nconfig.load_kube_config()\nv1 = client.CoreV1Api()\npod = v1.list_namespaced_pod('shop').items[0]\n"
        "for container in pod.spec.containers:\n    try:\n        print(v1.read_namespaced_pod_log(name=pod.metadata.name, namespace='shop', container=container.name, tail_lines=5))\n"
        "    except Exception as e:\n        print(f'no log of {container.name}: {e}')",
        ("^heap 256 MiB of 256 MiB$",),
    ),
    "pod_logs_non_blocking.py": Example(
        "import threading, socket\nfrom urllib3.exceptions import ReadTimeoutError",
        ("ModuleNotFoundError: there is no module 'threading'|socket",),
    ),
    "pod_exec.py": Example("from kubernetes.stream import stream", ("exec, attach and port-forward are refused: read logs",)),
    "pod_portforward.py": Example(
        "from kubernetes.stream import portforward", ("exec, attach and port-forward are refused: read logs",)
    ),
    "pod_exec.py, directly": Example(
        "from kubernetes.client.api import core_v1_api\ncore_v1_api.CoreV1Api().connect_get_namespaced_pod_exec('x', 'default', command=['ls'])",
        (r"ForbiddenException: 403 policy\.tunnel.*read logs",),
        writes=True,
    ),
    "informer_example.py": Example(
        "from kubernetes.informer import ADDED, SharedInformer", (r"list once, or use watch\.Watch\(\)\.stream",)
    ),
    "leaderelection/example.py": Example(
        "from kubernetes.leaderelection import leaderelection", ("read the holder with",)
    ),
    "metrics_example.py": Example(
        "from kubernetes import client, config, utils\nconfig.load_kube_config()\nc = client.ApiClient()\nmetrics = utils.get_nodes_metrics(c)\n"
        "for node in metrics.get('items', []):\n    print(node['metadata']['name'], node.get('window', 'N/A'), node.get('usage', {}).get('cpu', 'N/A'))\n"
        "pods = utils.get_pods_metrics(c, 'shop', 'app=storefront')\n"
        "for container in pods.get('items', [])[0].get('containers', []):\n    print(container['name'], container.get('usage', {}).get('memory'))\n"
        "print(sorted(utils.get_pods_metrics_in_all_namespaces(c, ['shop', 'batch'])))",
        (r"^node-a1 \S+ \d+[mn]?$", r"^\S+ \d+[KM]i$", r"\['batch', 'shop'\]"),
    ),
    "duration-gep2257.py": Example(
        "from kubernetes.utils import duration\nfor text in ('1h', '3600s', '90m', '30m1h10s5s', '0h0m0s0ms'):\n    print(duration.format_duration(duration.parse_duration(text)))\n"
        "for text in ('-5m', '1.5h'):\n    try:\n        duration.parse_duration(text)\n    except ValueError as e:\n        print(e)",
        (r"\A1h\n1h\n1h30m\n1h30m15s\n0s\nInvalid duration format: -5m\nInvalid duration format: 1\.5h\n",),
    ),
    "node_labels.py": Example(
        "from kubernetes import client, config\nconfig.load_kube_config()\nv1 = client.CoreV1Api()\nbody = {'metadata': {'labels': {'foo': 'bar', 'baz': None}}}\n"
        "for node in v1.list_node().items:\n    print(v1.patch_node(node.metadata.name, body, dry_run='All').metadata.labels['foo'])",
        ("403 writes.nodes: .*nodes are not changed here; return the kubectl command",),
        writes=True,
    ),
    "annotate_deployment.py": Example(
        "from kubernetes import client\napps = client.AppsV1Api()\nname = apps.list_namespaced_deployment('shop').items[0].metadata.name\n"
        "patch = [{'op': 'add', 'path': '/metadata/annotations', 'value': {'example/int': '5'}}]\n"
        "apps.patch_namespaced_deployment(name=name, namespace='shop', body=patch, dry_run='All').metadata.annotations",
        (r'"example/int":"5"',),
        writes=True,
    ),
    "deployment_create.py": Example(
        DEPLOYMENT + "apps.create_namespaced_deployment(body=make(client.V1Deployment, client.V1DeploymentSpec, replicas=3), namespace='default')",
        (f"403 policy.read_only.*{REFUSED}",),
    ),
    "deployment_crud.py": Example(
        DEPLOYMENT + "deployment = make(client.V1Deployment, client.V1DeploymentSpec, replicas=3)\ndeployment.kind = 'Deployment'\n"
        "resp = apps.create_namespaced_deployment(body=deployment, namespace='default', dry_run='All')\n"
        "print('%s %s %s' % (resp.metadata.namespace, resp.metadata.name, resp.spec.template.spec.containers[0].image))\n"
        "deployment.spec.template.spec.containers[0].image = 'app:2'\nprint(deployment.spec.template.spec.containers[0].image)\n"
        "deployment.spec.template.metadata.annotations = {'kubectl.kubernetes.io/restartedAt': datetime.datetime.now(tz=timezone.utc).isoformat()}\n"
        "print(list(client.ApiClient().sanitize_for_serialization(deployment)['spec']['template']['metadata']))",
        (r"^default x app:1$", r"^app:2$", r"\['labels', 'annotations'\]"),
        writes=True,
    ),
    "apply_from_dict.py": Example(
        "from kubernetes.client.rest import ApiException\nfrom kubernetes import client, config, utils\nconfig.load_kube_config()\nimport sys\n"
        "manifest = {'apiVersion': 'v1', 'kind': 'ConfigMap', 'metadata': {'name': 'x'}}\n"
        "try:\n    utils.create_from_dict(client.ApiClient(), manifest)\nexcept ApiException as e:\n    print(f'Kubernetes API error: {e}', file=sys.stderr)\n    sys.exit(1)",
        (f"Kubernetes API error: 403 policy.read_only.*{REFUSED}",),
    ),
    "apply_from_single_file.py": Example(
        "from kubernetes import client, utils\nutils.create_from_yaml(client.ApiClient(), 'x.yaml')",
        (r"there are no files here: write the manifest as a dict, and utils\.create_from_dict\(None, manifest\)",),
    ),
    "apply_from_directory.py": Example(
        "from kubernetes import client, utils\nutils.create_from_directory(client.ApiClient(), 'dir')", ("there are no files here: write the manifest as a dict",)
    ),
    "cronjob_crud.py": Example(
        "import json\nfrom kubernetes import client\nret = client.BatchV1Api().list_namespaced_cron_job(namespace='batch', pretty='true', _preload_content=False)\n"
        "jobs = json.loads(ret.data)\nprint(ret.status, sorted(j['metadata']['name'] for j in jobs['items']))",
        (r"^200 \[.*'cleanup'.*'import'",),
    ),
    "job_crud.py": Example(
        "from kubernetes import client\nv1 = client.BatchV1Api()\njob = client.V1Job(api_version='batch/v1', kind='Job', metadata=client.V1ObjectMeta(name='pi'),\n"
        "    spec=client.V1JobSpec(backoff_limit=4, template=client.V1PodTemplateSpec(spec=client.V1PodSpec(restart_policy='Never',\n"
        "    containers=[client.V1Container(name='pi', image='perl', command=['perl'])]))))\n"
        "made = v1.create_namespaced_job(body=job, namespace='default', dry_run='All')\nprint(made.spec.backoff_limit, made.status.succeeded is None)\n"
        "name = v1.list_namespaced_job('batch').items[0].metadata.name\nprint(v1.read_namespaced_job_status(name=name, namespace='batch').status is not None)",
        (r"^4 True$", r"^True$"),
        writes=True,
    ),
    "job_crud.py, its imports": Example("from time import sleep", ("waiting uses up the time limit|cannot import 'sleep'",)),
    "ingress_create.py": Example(
        "from kubernetes import client\nbody = client.V1Ingress(api_version='networking.k8s.io/v1', kind='Ingress', metadata=client.V1ObjectMeta(name='x'),\n"
        "    spec=client.V1IngressSpec(rules=[client.V1IngressRule(host='x.example', http=client.V1HTTPIngressRuleValue(paths=[client.V1HTTPIngressPath(\n"
        "    path='/', path_type='Exact', backend=client.V1IngressBackend(service=client.V1IngressServiceBackend(name='s',\n"
        "    port=client.V1ServiceBackendPort(number=80))))]))]))\n"
        "client.NetworkingV1Api().create_namespaced_ingress('default', body, dry_run='All').to_dict()['spec']['rules'][0]['http']['paths'][0]['backend']",
        (r'\{"service":\{"name":"s","port":\{"number":80\}\}\}',),
        writes=True,
    ),
    "patch_namespaced_config_map.py": Example(
        "from kubernetes import client\nv1 = client.CoreV1Api()\nname = v1.list_namespaced_config_map('shop').items[0].metadata.name\n"
        "body = client.V1ConfigMap(api_version='v1', kind='ConfigMap', metadata=client.V1ObjectMeta(name=name, namespace='shop'), data={'test_key': 'v'})\n"
        "v1.patch_namespaced_config_map(name=name, namespace='shop', body=body, dry_run='All').data['test_key']",
        (r"^v$",),
        writes=True,
    ),
    "rollout-daemonset.py": Example(
        "from kubernetes import client\napps = client.AppsV1Api()\nfound = []\nfor revision in apps.list_namespaced_controller_revision('kube-system').items:\n"
        "    if revision.metadata.owner_references[0].kind == 'DaemonSet':\n        found.append((revision.metadata.name, revision.revision))\n"
        "print(sorted(found, key=lambda x: x[1]), len(apps.list_daemon_set_for_all_namespaces().items) > 0)",
        (r"^\[.*\] True$",),
    ),
    "rollout-statefulset.py": Example(
        DEPLOYMENT + "body = make(client.V1StatefulSet, client.V1StatefulSetSpec, service_name='x', replicas=1)\nbody.kind = 'StatefulSet'\n"
        "service = client.V1Service(spec=client.V1ServiceSpec(cluster_ip='None', ports=[client.V1ServicePort(port=1, target_port=1)]))\n"
        "made = apps.create_namespaced_stateful_set(namespace='default', body=body, dry_run='All')\nprint(made.spec.service_name, service.spec.cluster_ip)",
        (r"^x None$",),
        writes=True,
    ),
    "namespaced_custom_object.py": Example(
        "from pprint import pprint\nfrom kubernetes import client\napi = client.CustomObjectsApi()\n"
        "found = api.list_namespaced_custom_object(group='cert-manager.io', version='v1', namespace='payments', plural='certificates')\nname = found['items'][0]['metadata']['name']\n"
        "one = api.get_namespaced_custom_object(group='cert-manager.io', version='v1', name=name, namespace='payments', plural='certificates')\npprint(one['spec'])\n"
        "print(api.patch_namespaced_custom_object(group='cert-manager.io', version='v1', namespace='payments', plural='certificates', name=name, body={'metadata': {'labels': {'a': 'b'}}}, dry_run='All')['metadata']['labels'])",
        ("'dnsNames': ", r"\{'a': 'b'\}"),
        writes=True,
    ),
    "cluster_scoped_custom_object.py": Example(
        "from kubernetes import client\napi = client.CustomObjectsApi()\n"
        "found = api.list_cluster_custom_object(group='metrics.k8s.io', version='v1beta1', plural='nodes')\n"
        "node = api.get_cluster_custom_object(group='metrics.k8s.io', version='v1beta1', plural='nodes', name=found['items'][0]['metadata']['name'])\n"
        "f\"{node['metadata']['name']} {sorted(node['usage'])}\"",
        (r"^node-a1 \['cpu', 'memory'\]$",),
    ),
    "watch/pod_namespace_watch.py": Example(
        "from kubernetes import client, config, watch\nconfig.load_kube_config()\nv1 = client.CoreV1Api()\ncount = 3\nw = watch.Watch()\n"
        "for event in w.stream(v1.list_namespace, timeout_seconds=10):\n    print('Event: %s %s' % (event['type'], event['object'].metadata.name))\n    count -= 1\n    if not count:\n        w.stop()\n"
        "print('done')\nfor event in w.stream(v1.list_pod_for_all_namespaces, timeout_seconds=10):\n"
        "    print('Event: %s %s %s' % (event['type'], event['object'].kind, event['object'].metadata.name))\n    w.stop()",
        (r"\A(Event: ADDED \S+\n){3}done\nEvent: ADDED Pod \S+\n",),
    ),
    "watch/watch_recovery.py": Example(
        "import urllib3\nfrom kubernetes import config\nfrom kubernetes.client import api_client\nfrom kubernetes.client.exceptions import ApiException\n"
        "from kubernetes.dynamic.client import DynamicClient\nconfig.load_kube_config()\nclient = DynamicClient(api_client.ApiClient())\napi = client.resources.get(api_version='v1', kind='Pod')\n"
        "resource_version = None\ntry:\n    for event in api.watch(namespace='shop', resource_version=resource_version, allow_watch_bookmarks=True, timeout=20):\n"
        "        resource_version = event['object'].metadata.resourceVersion\n        print('Event: %s %s %s' % (resource_version, event['type'], event['object'].metadata.name))\n        break\n"
        "except ApiException as err:\n    if err.status != 410:\n        raise\nexcept urllib3.exceptions.ProtocolError:\n    print('lost')",
        (r"\AEvent: \d+ ADDED \S+\n",),
    ),
    "dynamic-client/node.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='v1', kind='Node')\nfor item in api.get().items:\n    node = api.get(name=item.metadata.name)\n"
        "    print('%s\\t%s\\t%s' % (node.metadata.name, node.status.conditions[-1]['type'], node.status.nodeInfo.kubeProxyVersion))",
        (r"^node-a1\tReady\t",),
    ),
    "dynamic-client/accept_header.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='v1', kind='Node')\n"
        "resp = api.get(**{'header_params': {'Accept': 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io'}})\n"
        "print('%s %s' % (resp.apiVersion, resp.kind))",
        (r"^meta\.k8s\.io/v1 PartialObjectMetadataList$",),
    ),
    "dynamic-client/request_timeout.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='v1', kind='ConfigMap')\n"
        "found = api.get(namespace='shop', label_selector='', _request_timeout=60).items[0]\nprint(found.metadata.name == api.get(name=found.metadata.name, namespace='shop', _request_timeout=60).metadata.name, type(found.data))",
        (r"^True ",),
    ),
    "dynamic-client/configmap.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='v1', kind='ConfigMap')\nmanifest = {'kind': 'ConfigMap', 'apiVersion': 'v1', 'metadata': {'name': 'x'}, 'data': {'a': '1'}}\n"
        "made = api.create(body=manifest, namespace='default', dry_run='All')\nlisted = api.get(namespace='shop')\n"
        "name = listed.items[0].metadata.name\npatched = api.patch(name=name, namespace='shop', body={'data': {'b': '2'}}, dry_run='All')\n"
        "gone = api.delete(name=name, body={}, namespace='shop', dry_run='All')\nprint(made.data.a, patched.data['b'], gone.status)",
        (r"^1 2 Success$",),
        writes=True,
    ),
    "dynamic-client/service.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='v1', kind='Service')\nname = api.get(namespace='shop').items[0].metadata.name\n"
        "patched = api.patch(body={'spec': {'ports': [{'name': 'new', 'port': 8080}]}}, name=name, namespace='shop', dry_run='All')\nprint([p.port for p in patched.spec.ports if p.name == 'new'])",
        (r"^\[8080\]$",),
        writes=True,
    ),
    "dynamic-client/replication_controller.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='v1', kind='ReplicationController')\n"
        "manifest = {'apiVersion': 'v1', 'kind': 'ReplicationController', 'metadata': {'name': 'x'}, 'spec': {'replicas': 2, 'selector': {'a': 'b'},\n"
        "    'template': {'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', 'image': 'i'}]}}}}\n"
        "print(api.create(body=manifest, namespace='default', dry_run='All').spec.replicas, len(api.get(namespace='default').items))",
        (r"^2 0$",),
        writes=True,
    ),
    "dynamic-client/deployment_rolling_restart.py": Example(
        DYNAMIC + "api = client.resources.get(api_version='apps/v1', kind='Deployment')\nfound = api.get(namespace='shop').items[0]\n"
        "found.spec.template.metadata.annotations = {'kubectl.kubernetes.io/restartedAt': datetime.datetime.utcnow().isoformat()}\n"
        "done = api.patch(body=found, name=found.metadata.name, namespace='shop', dry_run='All')\n'kubectl.kubernetes.io/restartedAt' in done.spec.template.metadata.annotations",
        (r"^true$",),
        writes=True,
    ),
    "dynamic-client/namespaced_custom_resource.py": Example(
        DYNAMIC + "crds = client.resources.get(api_version='apiextensions.k8s.io/v1', kind='CustomResourceDefinition')\nprint(crds.get(name='certificates.cert-manager.io').spec.names.kind)\n"
        "api = client.resources.get(api_version='cert-manager.io/v1', kind='Certificate')\nfor item in api.get(namespace='payments').items:\n    print(item.metadata.name, item.spec.issuerRef.name)",
        (r"^Certificate$", r"^\S+ acme$"),
    ),
    "dynamic-client/cluster_scoped_custom_resource.py": Example(
        DYNAMIC + "from kubernetes.dynamic.exceptions import ResourceNotFoundError\ntry:\n    client.resources.get(api_version='apps.example.com/v1', kind='IngressRoute')\n"
        "except ResourceNotFoundError as e:\n    print(type(e).__name__, e)",
        ("ResourceNotFoundError 404 Not Found: no kind with api_version='apps.example.com/v1', kind='IngressRoute'",),
    ),
    "notebooks/create_pod.ipynb": Example(
        "from kubernetes import client\npod = client.V1Pod()\nspec = client.V1PodSpec()\npod.metadata = client.V1ObjectMeta(name='busybox')\ncontainer = client.V1Container()\ncontainer.image = 'busybox'\n"
        "container.args = ['sleep', '3600']\ncontainer.name = 'busybox'\nspec.containers = [container]\npod.spec = spec\n"
        "made = client.CoreV1Api().create_namespaced_pod(namespace='default', body=pod, dry_run='All')\nprint(made.spec.containers[0].args)",
        (r"^\['sleep', '3600'\]$|serviceaccount",),  # the test's control plane makes no default service account
        writes=True,
    ),
    "notebooks/create_configmap.ipynb": Example(
        "from kubernetes import client\nfrom kubernetes.client.rest import ApiException\ncmap = client.V1ConfigMap()\ncmap.metadata = client.V1ObjectMeta(name='special')\ncmap.data = {}\ncmap.data['special.how'] = 'very'\n"
        "env = [client.V1EnvVar(name='A')]\nenv[0].value_from = client.V1EnvVarSource()\nenv[0].value_from.config_map_key_ref = client.V1ConfigMapKeySelector(name='special', key='special.how')\n"
        "print(client.CoreV1Api().create_namespaced_config_map(namespace='default', body=cmap, dry_run='All').data, env[0].to_dict())",
        (r"\{'special.how': 'very'\} \{'name': 'A', 'value_from': \{'config_map_key_ref': \{'name': 'special', 'key': 'special.how'\}\}\}",),
        writes=True,
    ),
    "notebooks/create_deployment.ipynb": Example(
        "from kubernetes import client\ndep = client.V1Deployment()\nspec = client.V1DeploymentSpec()\ndep.metadata = client.V1ObjectMeta(name='b')\nspec.template = client.V1PodTemplateSpec()\n"
        "spec.template.metadata = client.V1ObjectMeta(name='b')\nspec.template.metadata.labels = {'app': 'b'}\nspec.template.spec = client.V1PodSpec()\ndep.spec = spec\n"
        "dep.metadata.labels = {'key': 'value'}\noptions = client.V1DeleteOptions(propagation_policy='Foreground', grace_period_seconds=5)\n"
        "print(client.ApiClient().sanitize_for_serialization(dep), options.propagation_policy)",
        (r"\{'metadata': \{'name': 'b', 'labels': \{'key': 'value'\}\}, 'spec': \{'template': .* Foreground",),
    ),
    "notebooks/create_secret.ipynb": Example(
        "from kubernetes import client\nclient.configuration.assert_hostname = False\nsec = client.V1Secret()\nsec.metadata = client.V1ObjectMeta(name='s')\nsec.type = 'Opaque'\nsec.data = {'u': 'eA=='}\n"
        "mounts = [client.V1VolumeMount()]\nmounts[0].mount_path = '/data'\nclient.CoreV1Api().create_namespaced_secret(namespace='default', body=sec)",
        ("403 policy.denied_resource: create secrets in namespace default: Secrets are not written here, by the rule core/Secret",),
    ),
    "notebooks/create_service.ipynb": Example(
        "from kubernetes import client\nservice = client.V1Service()\nservice.api_version = 'v1'\nservice.kind = 'Service'\nservice.metadata = client.V1ObjectMeta(name='s')\nspec = client.V1ServiceSpec()\nspec.selector = {'app': 'x'}\n"
        "spec.ports = [client.V1ServicePort(protocol='TCP', port=80, target_port=9376)]\nservice.spec = spec\nmade = client.CoreV1Api().create_namespaced_service(namespace='default', body=service, dry_run='All')\n"
        "print(made.spec.ports[0].target_port, made.spec.cluster_ip is not None)",
        (r"^9376 True$",),
        writes=True,
    ),
    "notebooks/intro_notebook.ipynb": Example(
        "from kubernetes import client, config\nconfig.load_incluster_config()\nv1 = client.CoreV1Api()\nfor i in v1.list_namespaced_pod(namespace='shop').items:\n"
        "    print('%s  %s  %s' % (i.status.pod_ip, i.metadata.namespace, i.metadata.name))",
        (r"^10\.\S+  shop  \S+$",),
    ),
    "examples_asyncio/list_pods.py": Example(
        "import asyncio\nfrom kubernetes.aio import client, config\nasync def main():\n    await config.load_kube_config()\nasyncio.run(main())",
        ("the SDK is synchronous: drop `await` and `async`, and call the method directly",),
    ),
    "pagination": Example(
        "from kubernetes import client\nv1 = client.CoreV1Api()\nnames, token = [], None\nwhile True:\n    page = v1.list_pod_for_all_namespaces(limit=80, _continue=token)\n"
        "    names += [p.metadata.name for p in page.items]\n    token = page.metadata._continue\n    if not token:\n        break\nprint(len(names), len(set(names)))",
        (r"^{pods} \d+$",),
    ),
    "http info": Example(
        "from kubernetes import client\ndata, status, headers = client.CoreV1Api().list_node_with_http_info(limit=2)\nprint(len(data.items), status, 'Audit-Id' in headers or len(headers))",
        (r"^2 200 ",),
    ),
}  # fmt: skip

FILES = """
annotate_deployment api_discovery apply_from_dict apply_from_directory apply_from_single_file cluster_scoped_custom_object
cronjob_crud deployment_create deployment_crud duration-gep2257 dynamic-client/accept_header
dynamic-client/cluster_scoped_custom_resource dynamic-client/configmap dynamic-client/deployment_rolling_restart
dynamic-client/namespaced_custom_resource dynamic-client/node dynamic-client/replication_controller
dynamic-client/request_timeout dynamic-client/service enable_debug_logging in_cluster_config informer_example
ingress_create job_crud metrics_example multiple_clusters namespaced_custom_object node_labels out_of_cluster_config
patch_namespaced_config_map pick_kube_config_context pod_config_list pod_exec pod_logs pod_logs_non_blocking
pod_portforward remote_cluster rollout-daemonset rollout-statefulset watch/pod_namespace_watch watch/watch_recovery
leaderelection/example
"""
"""The example scripts of the official repository, August 2026."""


def test_every_official_example_is_here() -> None:
    """None is left out."""
    assert {f"{name}.py" for name in FILES.split()} <= EXAMPLES.keys()


async def _ask(kubeconfig: Path) -> dict[str, str]:
    """Every example's answer, from a server that may only read or one that may write."""
    told = {}
    for writes, flag in ((False, "--read-only"), (True, "--writes=direct")):
        flags = ["--kubeconfig", str(kubeconfig), flag, "--log-level", "error"]
        async with clients.connect("memory", flags) as client:
            for name, example in EXAMPLES.items():
                if example.writes is writes:
                    told[name] = clients.text(await clients.evaluate(client, example.script))
    return told


@pytest.fixture(scope="module")
def kubeconfig(run_folder: Path, run_process: int) -> Path:
    """A server of its own with the broken fixture: examples count pods, and write."""
    return cluster.elsewhere() or shared.attach("examples", run_folder, run_process).kubeconfig


@pytest.fixture(scope="module")
def answers(kubeconfig: Path) -> dict[str, str]:
    """What each example shows."""
    return anyio.run(_ask, kubeconfig)


@pytest.fixture(scope="module")
def pods(kubeconfig: Path, answers: dict[str, str]) -> int:
    """How many pods the cluster has, by the official client itself: other tests may have left some."""
    api = official_client.connect(kubeconfig)
    return len(kubernetes.client.CoreV1Api(api).list_pod_for_all_namespaces().items)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_behaves(name: str, answers: dict[str, str], pods: int) -> None:
    """It shows what the original shows, or says in one line what to write instead."""
    told = answers[name] + "\n"
    for pattern in EXAMPLES[name].shows:
        assert re.search(pattern.replace("{pods}", str(pods)), told, re.MULTILINE), told
