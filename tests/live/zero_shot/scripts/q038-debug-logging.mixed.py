# question: q038-debug-logging · style: mixed · author: a platform engineer
def deployments_with_env(name, value):
    for d in k8s.appsV1().list_deployment_for_all_namespaces():
        envs = (e for c in d.spec.template.spec.containers for e in c.env or [])
        if any(e.name == name and e.value == value for e in envs):
            yield "/".join((d.metadata.namespace, d.metadata.name))


def main():
    return sorted(deployments_with_env("LOG_LEVEL", "debug"))


if __name__ == "__main__":
    answer = main()
answer
