"""Releases as people have them: several revisions, failed, pending and uninstalled ones, in Secrets and in ConfigMaps.

The real Helm makes them; nothing runs, and no image is needed.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from tests.kit import helm

__all__ = ["HOOK_PASSWORD", "NAMESPACE", "NOTE_PASSWORD", "OTHER", "PASSWORD", "install"]

NAMESPACE = "helm-one"
OTHER = "helm-two"
PASSWORD = "Tr0ub4dor-and-3-more"
"""In the values of `web`, in its Secret and in its manifest."""
NOTE_PASSWORD = "N0tes-say-t00-much"
HOOK_PASSWORD = "h00k-knows-it-t00"
_CHART = {
    "Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.2.3\nappVersion: 4.5.6\ndescription: A web server\n",
    "values.yaml": """
replicas: 1
image: {repository: registry.local/web, tag: "1.0"}
env: {LOG_LEVEL: info, DROPPED: gone}
dropped: {all: of it}
list: [1, two, {three: 3.5}]
text: "line one\\nline two\\n"
auth: {password: changeme}
""",
    "templates/all.yaml": """
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-env
data:
  level: {{ .Values.env.LOG_LEVEL | quote }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}-auth
stringData:
  password: {{ .Values.auth.password | quote }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  labels: {app: web}
  name: "{{ .Release.Name }}"
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"}
""",
    "templates/hook.yaml": f"""
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{{{ .Release.Name }}}}-hook
  annotations: {{"helm.sh/hook": "pre-install,pre-upgrade", "helm.sh/hook-weight": "5"}}
data: {{dsn: "postgres://app:{HOOK_PASSWORD}@db/app"}}
""",
    "templates/NOTES.txt": f"Visit {{{{ .Release.Name }}}}.\nLog in with password={NOTE_PASSWORD}\n",
}
_BROKEN = """
apiVersion: v1
kind: Service
metadata: {name: broken}
spec: {ports: [{port: 99999}]}
"""


def install(kubeconfig: Path, home: Path) -> None:
    """Makes all of them."""
    web = _chart(home, "web", _CHART)
    broken = _chart(
        home, "broken", {"Chart.yaml": "apiVersion: v2\nname: broken\nversion: 0.1.0\n", "templates/a.yaml": _BROKEN}
    )

    def run(*words: str, driver: str = "secret", fails: bool = False) -> None:
        helm.run(kubeconfig, home, *words, driver=driver, fails=fails)

    here = ("-n", NAMESPACE, "--create-namespace")
    run("install", "web", str(web), *here, "--set", "replicas=2")
    values = {"auth": {"password": PASSWORD}, "env": {"DROPPED": None, "MORE": "yes"}, "dropped": None, "on": "no"}
    file = home / "values.json"
    file.write_text(json.dumps(values))
    run("upgrade", "web", str(web), *here, "-f", str(file), "--description", "More of everything")
    run("upgrade", "web", str(web), *here, "--set", "replicas=3")
    run("rollback", "web", "2", "-n", NAMESPACE)
    run("install", "broken", str(broken), *here, fails=True)
    run("install", "gone", str(web), *here)
    run("uninstall", "gone", "-n", NAMESPACE, "--keep-history")
    run("install", "api", str(web), "-n", OTHER, "--create-namespace")
    run("install", "mapped", str(web), "-n", OTHER, driver="configmap")
    _interrupt(kubeconfig, home, "install", "waiting", str(web), "-n", OTHER, "--wait")


def install_web(kubeconfig: Path, home: Path, namespace: str) -> None:
    """Makes one release, `release`, in a namespace that is there."""
    helm.run(kubeconfig, home, "install", "release", str(_chart(home, "web", _CHART)), "-n", namespace)


def _chart(home: Path, name: str, files: dict[str, str]) -> Path:
    folder = home / "charts" / name
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def _interrupt(kubeconfig: Path, home: Path, *words: str) -> None:
    """Ends Helm while it waits for what never becomes ready."""
    command = [str(helm.program()), "--kubeconfig", str(kubeconfig), *words]
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as waiting:
        deadline = time.monotonic() + 180
        while "pending-install" not in helm.run(kubeconfig, home, "list", "--pending", "-n", OTHER):
            assert time.monotonic() < deadline, "Helm has not begun"
            time.sleep(0.2)
        waiting.kill()
