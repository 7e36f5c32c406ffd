"""Messages of Events and conditions, and annotations."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["ANNOTATIONS", "MESSAGES"]

MESSAGES: Final = markup.sections(r"""
=== probe failed with command
Liveness probe errored: command "mysqladmin ping -uroot -p<%dull%>" timed out
=== exec failed
Error: failed to start container "app": exec: "app --db-password=<%strong%> --port=80": executable file not found in $PATH
=== http probe
Readiness probe failed: Get "http://10.42.0.7:8080/health?token=<%b62 32%>": context deadline exceeded
=== helm failed
Helm install failed: execution error at (shop/templates/db.yaml:3:4): invalid value "<%odd%>" for auth.password
=== repo error
failed to fetch https://ci:<%b62 20 glpat-%>@git.example.com/acme/deploy.git: <#unable to access: HTTP 401#>
=== dsn error
cannot connect: pq: parse "postgres://app:<%weak de%>@db:5432/shop": <#net/url: invalid userinfo#>
=== provider error
create failed: async create failed: Error creating DB Instance: InvalidParameterValue: The parameter MasterUserPassword "<%weak en%>" is not a valid password <#status code: 400, request id: <=uuid=>#>
=== patch denied
admission webhook "policy.example.com" denied the request: env DB_PASSWORT has literal value '<%weak de%>', <#use a secretKeyRef#>
=== migration
Job failed: FATAL: could not run migration with dsn shop:<%odd%>@tcp(mysql:3306)/shop
=== connect worker
Task failed: org.apache.kafka.connect.errors.ConnectException: Invalid JAAS: username="d" password="<%dull%>";
=== oauth
oidc refresh failed: oauth2: cannot fetch token: 400 Response: {"error":"invalid_grant","refresh_token":"<%b62 40%>"}
=== created user
Created database user shop with password <%b62 16%>
=== webhook
POST https://hooks.slack.com/services/T<=upper 9=>/B<=upper 9=>/<%b62 24%> giving up after 5 attempts
=== azure
blob: https://shop.blob.core.windows.net/b/x?sp=r&sv=2022-11-02&sr=b&sig=<%b64 32|url%> <#AuthenticationFailed#>
=== s3 signed
download https://b.s3.amazonaws.com/k?X-Amz-Credential=<~upper 16 AKIA~>%2F20260304%2Feu-central-1%2Fs3%2Faws4_request&X-Amz-Signature=<%hex 64%> failed
=== kubelet mount
MountVolume.MountDevice failed: mount -t cifs -o username=svc,password=<%dull%> //nas/x: <#Permission denied (13)#>
=== user note
Neues Passwort fuer Nexus: <%weak de%>
""")

ANNOTATIONS: Final = markup.sections(r"""
=== nginx snippet | nginx.ingress.kubernetes.io/configuration-snippet
proxy_set_header Authorization "Bearer <%b62 40%>";
<#more_set_headers "X-Frame-Options: DENY";#>
=== last applied | kubectl.kubernetes.io/last-applied-configuration
{"apiVersion":"v1","kind":"Pod","spec":{"containers":[{"name":"a","env":[{"name":"DB_PASS","value":"<%strong%>"}]}]}}
=== ops note | ops.example.com/note
db root pw is <%dull%>, ask Anna
=== grafana | grafana.example.com/datasource
{"url":"http://u:<%weak fr%>@loki:3100","access":"proxy"}
=== scrape params | prometheus.io/param_token
<%b62 32%>
=== terraform | tf.example.com/vars
db_password=<%odd%>
=== oncall | oncall.example.com/webhook
https://oncall.example.com/integrations/v1/alertmanager/<%b62 25%>/
=== basic auth | haproxy.org/auth-header
Basic <%basic%>
=== vault agent | vault.hashicorp.com/agent-inject-template-db
<#{{ with secret "secret/data/shop" }}postgres://app:{{ .Data.data.password }}@db{{ end }}#>
=== deploy key | deploy.example.com/ssh-key
<%ec%>
=== kpack | build.example.com/env
[{"name":"NPM_TOKEN","value":"<%b62 36 npm_%>"}]
""")
