"""What `kubectl describe` tells of an object: `kubectl_describe("pod", "web-0", "shop")`, `k8s.describe(pod)`.

`describer` reads the object and everything beside it; a module for each kind writes it with `writer`. Titles, field
names and layout are those of kubectl. tests/live/tools/test_tool_describe.py compares each kind with the real kubectl
and lists every deliberate difference.
"""
