# question: q176-selector-count · style: camel · author: a TypeScript developer
pods = k8s.coreV1().listPodForAllNamespaces(labelSelector="tier in (frontend, backend), !canary")
len(pods["items"])
