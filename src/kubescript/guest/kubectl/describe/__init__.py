"""The output of `kubectl describe`: `kubectl_describe("pod", "web-0", "shop")`, `k8s.describe(pod)`.

`describer` reads the object and related ones; a module for each kind writes them with `text_writer`. Titles, field
names and layout are kubectl's. tests/live/tools/test_tool_describe.py compares each kind with the real kubectl and
lists every deliberate difference.
"""
