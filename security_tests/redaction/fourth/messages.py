"""Events."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== probes
Unhealthy: Liveness probe failed: Warning: Using a password on the command line interface can be insecure. mysqladmin: connect to server at '127.0.0.1' failed
Unhealthy: Readiness probe failed: command "redis-cli -a <%dull%> ping" timed out
Unhealthy: Liveness probe failed: Get "http://10.42.0.9:8080/health?token=<%base62 24%>": context deadline exceeded (Client.Timeout exceeded while awaiting headers)
Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 401
=== starts
FailedPostStartHook: Exec lifecycle hook ([/bin/sh -c curl -u admin:<%dull%> -X POST localhost:8080/init]) for Container "web" failed - error: command exited with 7
Failed: Error: failed to create containerd task: exec: "--password=<%strong%>": executable file not found in $PATH: unknown
Failed: Error: secret "orders-credentials" not found
Failed: Error: couldn't find key db-password in Secret orders/orders-credentials
=== pulls
Failed: Failed to pull image "registry.nordlicht.example/orders/api:1.44.2": rpc error: code = Unknown desc = failed to authorize: failed to fetch oauth token: unexpected status: 401 Unauthorized
Failed: Failed to pull image "https://ci:<%dull%>@registry.nordlicht.example/orders/api": invalid reference format
Pulled: Successfully pulled image "registry.nordlicht.example/orders/api@sha256:<=sha256=>" in 1.2s
=== mounts
FailedMount: MountVolume.SetUp failed for volume "scans": mount failed: exit status 32 Mounting arguments: -t cifs -o username=svc-scan,password=<%human%>,vers=3.0 //fs01.nordlicht.example/scans /var/lib/kubelet/pods/<=uuid=>/volumes/scans
FailedMount: MountVolume.SetUp failed for volume "tls" : secret "web-tls-<=suffix=>" not found
=== controllers | unusual
SyncFailed: could not connect: dial postgres://operator:<%strong%>@orders-db:5432/postgres?sslmode=require: connect: connection refused
ReleaseFailed: Helm upgrade failed: execution error at (keycloak/templates/secrets.yaml:12:4): PASSWORDS ERROR: you must provide your current passwords, got adminPassword=<%dull%>
ProvisioningFailed: rpc error: POST https://api.cloud.example/v2/volumes Authorization: Bearer <%hex 64%>: 403 Forbidden
UserCreated: created user shipping with password <%dull%> in vhost /shipping
RotationDone: rotated key <=uuid=> of tenant-hamburg, next rotation in 720h
"""
