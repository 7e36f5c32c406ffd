"""Random scripts that change a small namespace, and somebody else who changes and deletes the same objects meanwhile."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from kubernetes import client

from tests.kit.controlplane.writer import Object

NAMESPACE: Final = "random"
RIVAL: Final = "rival"
"""As whom somebody else talks to the cluster."""
_MAPS: Final = tuple(f"settings-{number}" for number in range(8))
_DEPLOYMENTS: Final = tuple(f"web-{number}" for number in range(4))
_PODS: Final = tuple(f"single-{number}" for number in range(6))
_PAUSE_S: Final = 0.15
"""Between two acts of the rival."""
_MEDIA: Final = ("merge-patch", "strategic-merge-patch", "json-patch")
_HEAD: Final = """
core, apps = k8s.coreV1(), k8s.appsV1()
done = []
def attempt(write):
    try:
        write()
        done.append("planned")
    except Exception as error:
        done.append(str(error)[:200])
"""


class Scripts:
    """Scripts, from one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._number = 0

    def next(self) -> str:
        """A script of one to five writes."""
        writes = [self._write() for _ in range(self._random.randint(1, 5))]
        return _HEAD + "".join(writes) + "done\n"

    def _write(self) -> str:
        """One write, as a few lines."""
        kinds: tuple[Callable[[], str], ...] = (
            self._create, self._patch_map, self._patch_map, self._patch_deployment, self._replace, self._scale,
            self._set_image, self._restart, self._delete, self._apply, self._evict,
        )  # fmt: skip
        return self._random.choice(kinds)()

    def _value(self) -> str:
        """A text that is in no other write."""
        self._number += 1
        return self._random.choice(("plain", "<&> \"q\" 'a'", "Grüße 日本", "line\nline", "")) + f" {self._number}"

    def _create(self) -> str:
        self._number += 1
        name = self._random.choice((f"made-{self._number}", *_MAPS))
        if self._random.random() < 0.5:
            body = {"metadata": {"name": name}, "data": {"a": self._value()}}
            return f"attempt(lambda: core.create_namespaced_config_map({NAMESPACE!r}, {body!r}))\n"
        body = pod(self._random.choice((name, *_PODS)))
        return f"attempt(lambda: core.create_namespaced_pod({NAMESPACE!r}, {body!r}))\n"

    def _patch_map(self) -> str:
        key, media = self._random.choice("abc"), self._random.choice(_MEDIA)
        body: Any = {"data": {key: self._random.choice((self._value(), None))}}
        if media == "json-patch":
            body = [{"op": "add", "path": f"/data/{key}", "value": self._value()}]
        name = self._random.choice(_MAPS)
        return _patch("core.patch_namespaced_config_map", name, body, media)

    def _patch_deployment(self) -> str:
        value, media = self._value(), self._random.choice(_MEDIA)
        body: Any = {
            "metadata": {"annotations": {"note": value}},
            "spec": {"minReadySeconds": self._random.randint(0, 1)},
        }
        if media == "json-patch":
            body = [{"op": "replace", "path": "/spec/revisionHistoryLimit", "value": self._random.randint(1, 9)}]
        return _patch("apps.patch_namespaced_deployment", self._random.choice(_DEPLOYMENTS), body, media)

    def _replace(self) -> str:
        name, value = self._random.choice(_MAPS), self._value()
        return f"""
def replace():
    found = core.read_namespaced_config_map({name!r}, {NAMESPACE!r})
    found.data = {{"replaced": {value!r}}}
    core.replace_namespaced_config_map({name!r}, {NAMESPACE!r}, found)
attempt(replace)
"""

    def _scale(self) -> str:
        name, replicas = self._random.choice(_DEPLOYMENTS), self._random.randint(0, 3)
        return f'attempt(lambda: k8s.scale("deployments/{name}", {replicas}, namespace={NAMESPACE!r}))\n'

    def _set_image(self) -> str:
        self._number += 1
        name = self._random.choice(_DEPLOYMENTS)
        return f'attempt(lambda: k8s.set_image("deployments/{name}", c="c:{self._number}", namespace={NAMESPACE!r}))\n'

    def _restart(self) -> str:
        name = self._random.choice(_DEPLOYMENTS)
        return f'attempt(lambda: k8s.restart("deployments/{name}", namespace={NAMESPACE!r}))\n'

    def _delete(self) -> str:
        kind, names = self._random.choice((("configmaps", _MAPS), ("pods", _PODS), ("deployments", _DEPLOYMENTS)))
        name = self._random.choice(names)
        return f'attempt(lambda: k8s.delete("{kind}/{name}", namespace={NAMESPACE!r}))\n'

    def _apply(self) -> str:
        name = self._random.choice((f"applied-{self._number}", *_MAPS))
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}}
        body |= {"data": {self._random.choice("abc"): self._value()}}
        return f"attempt(lambda: k8s.apply({body!r}, force={self._random.random() < 0.7}))\n"

    def _evict(self) -> str:
        return f'attempt(lambda: k8s.evict("{self._random.choice(_PODS)}", namespace={NAMESPACE!r}))\n'


def _patch(method: str, name: str, body: Any, media: str) -> str:
    options = f'_content_type="application/{media}+json"'
    return f"attempt(lambda: {method}({name!r}, {NAMESPACE!r}, {body!r}, {options}))\n"


def pod(name: str) -> Object:
    """A pod without an owner."""
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}}


class Rival:
    """Changes and deletes the same objects, and makes again what is gone."""

    def __init__(self, api: Any, seed: int) -> None:
        self._core: Any = client.CoreV1Api(api)
        self._apps: Any = client.AppsV1Api(api)
        self._random = random.Random(seed)
        self._stopped = threading.Event()
        self.acts = 0
        """What it has done."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """It acts as long as this is open."""
        thread = threading.Thread(target=self._run, name="rival")
        thread.start()
        try:
            yield
        finally:
            self._stopped.set()
            thread.join()

    def make(self) -> None:
        """Makes everything that is not there."""
        for name in (*_MAPS, *_DEPLOYMENTS, *_PODS):
            with contextlib.suppress(client.ApiException):
                self._make(name)

    def _run(self) -> None:
        while not self._stopped.wait(_PAUSE_S):
            # What it changes may be gone, or there already.
            with contextlib.suppress(client.ApiException):
                self._act()
                self.acts += 1

    def _act(self) -> None:
        name, number = self._random.choice((*_MAPS, *_DEPLOYMENTS, *_PODS)), self._random.randint(0, 5)
        act = self._random.choice(("make", "make", "change", "change", "label", "delete"))
        if act == "make":
            self._make(name)
        elif name in _MAPS:
            self._change(name, "config_map", act, {"data": {self._random.choice("abc"): str(number)}})
        elif name in _DEPLOYMENTS:
            self._change(name, "deployment", act, {"spec": {"replicas": number % 3}})
        else:
            self._change(name, "pod", act, {"metadata": {"annotations": {"note": str(number)}}})

    def _change(self, name: str, kind: str, act: str, patch: Object) -> None:
        api = self._apps if kind == "deployment" else self._core
        if act == "delete":
            getattr(api, f"delete_namespaced_{kind}")(name, NAMESPACE)
            return
        if act == "label":
            patch = {"metadata": {"labels": {"seen": str(self._random.randint(0, 5))}}}
        getattr(api, f"patch_namespaced_{kind}")(name, NAMESPACE, patch)

    def _make(self, name: str) -> None:
        if name in _MAPS:
            self._core.create_namespaced_config_map(NAMESPACE, {"metadata": {"name": name}, "data": {"a": "0"}})
        elif name in _DEPLOYMENTS:
            template = {"metadata": {"labels": {"app": name}}, "spec": pod("")["spec"]}
            spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": template}
            self._apps.create_namespaced_deployment(NAMESPACE, {"metadata": {"name": name}, "spec": spec})
        else:
            self._core.create_namespaced_pod(NAMESPACE, pod(name))
