# question: q149-apps-unhealthy · style: camel · author: an Argo CD user
apps = k8s.customObjects().listClusterCustomObject("argoproj.io", "v1alpha1", "applications")
bad = {}
for app in apps.get("items", []):
    sync = app.get("status", {}).get("sync", {}).get("status")
    health = app.get("status", {}).get("health", {}).get("status")
    if sync != "Synced" or health != "Healthy":
        bad[app["metadata"]["name"]] = [sync, health]
bad
