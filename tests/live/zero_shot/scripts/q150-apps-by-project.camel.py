# question: q150-apps-by-project · style: camel · author: a TypeScript developer
api = k8s.customObjects()
apps = api.listClusterCustomObject("argoproj.io", "v1alpha1", "applications")
counts = {}
for app in apps.get("items", []):
    project = app.get("spec", {}).get("project", "default")
    counts[project] = counts.get(project, 0) + 1
counts
