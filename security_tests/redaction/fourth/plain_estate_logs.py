"""More logs without a secret, of the whole estate; written after the first measurement, to have more to harm."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== estate kubelet
E0304 05:06:07.123456    1812 pod_workers.go:1301] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"api\" with CrashLoopBackOff" pod="orders/orders-api-<=suffix=>" podUID="<=uuid=>"
I0304 05:06:07.223456    1812 reconciler_common.go:245] "operationExecutor.VerifyControllerAttachedVolume started for volume \"kube-api-access-<=suffix=>\" (UniqueName: \"kubernetes.io/projected/<=uuid=>-kube-api-access-<=suffix=>\")"
W0304 05:06:07.323456    1812 kubelet_pods.go:921] "Unable to retrieve pull secret, the image pull may not succeed." pod="orders/orders-api" secret="" err="secret \"nordlicht-registry\" not found"
I0304 05:06:07.423456    1812 token_manager.go:121] "Couldn't update token for pod, using the cached one" expiration="2026-03-04T06:06:07Z"
=== estate apiserver
I0304 05:06:07.000000       1 httplog.go:132] "HTTP" verb="GET" URI="/api/v1/namespaces/orders/secrets/orders-credentials" latency="2.1ms" userAgent="reloader/v1.0" audit-ID="<=uuid=>" srcIP="10.0.12.34:41122" resp=200
I0304 05:06:07.100000       1 oidc.go:228] OIDC: verified token for issuer "https://login.nordlicht.example/realms/ops"
E0304 05:06:07.200000       1 authentication.go:73] "Unable to authenticate the request" err="[invalid bearer token, service account token has expired]"
W0304 05:06:07.300000       1 warnings.go:70] Use tokens from the TokenRequest API or manually created secret-based tokens instead of auto-generated secret-based tokens.
=== estate vault
2026-03-04T05:06:07.123Z [INFO]  expiration: revoked lease: lease_id=auth/kubernetes/login/<=sha256=>
2026-03-04T05:06:07.223Z [INFO]  core: successfully mounted: type=kv version="v0.20.0+builtin" path=secret/ namespace="ID: root. Path: "
2026-03-04T05:06:08.123Z [WARN]  core: attempted unseal with insufficient keys: have 1, need 2
{"type":"request","auth":{"accessor":"hmac-sha256:<=sha256=>","policies":["orders"],"token_type":"service"},"request":{"id":"<=uuid=>","operation":"read","path":"secret/data/orders/db","client_token":"hmac-sha256:<=sha256=>"}}
{"type":"response","response":{"data":{"data":{"password":"hmac-sha256:<=sha256=>","username":"hmac-sha256:<=sha256=>"}}}}
=== estate keycloak
2026-03-04 05:06:07,123 WARN  [org.keycloak.events] (executor-thread-12) type="LOGIN_ERROR", realmId="<=uuid=>", clientId="orders-ui", userId="<=uuid=>", ipAddress="10.42.0.9", error="invalid_user_credentials", auth_method="openid-connect", redirect_uri="https://orders.nordlicht.example/callback", code_id="<=uuid=>", username="jana"
2026-03-04 05:06:07,223 INFO  [org.keycloak.events] (executor-thread-13) type="REFRESH_TOKEN", realmId="<=uuid=>", clientId="orders-ui", token_id="<=uuid=>", grant_type="refresh_token", refresh_token_type="Refresh", scope="openid profile", refresh_token_id="<=uuid=>", client_auth_method="client-secret"
2026-03-04 05:06:08,001 INFO  [org.keycloak.services] (main) KC-SERVICES0009: Added user 'admin' to realm 'master'
2026-03-04 05:06:08,101 WARN  [org.keycloak.protocol.oidc] (executor-thread-4) Invalid token issuer. Expected 'https://login.nordlicht.example/realms/ops'
=== estate argocd
time="2026-03-04T05:06:07Z" level=info msg="Comparing app state (cluster: https://kubernetes.default.svc, namespace: orders)" application=argocd/orders
time="2026-03-04T05:06:07Z" level=info msg="manifest cache hit: &ApplicationSource{RepoURL:https://git.nordlicht.example/platform/charts.git,Path:orders,TargetRevision:main,Helm:&ApplicationSourceHelm{ValueFiles:[prod.yaml],}}/<=git=>"
time="2026-03-04T05:06:08Z" level=info msg="finished unary call with code OK" grpc.method=GenerateManifest grpc.request.deadline="2026-03-04T05:07:07Z" grpc.time_ms=12.4
time="2026-03-04T05:06:08Z" level=warning msg="Failed to verify token: token is expired by 2m" auth=session
=== estate cert manager
I0304 05:06:07.000000 1 conditions.go:203] Setting lastTransitionTime for Certificate "orders-tls" condition "Ready" to 2026-03-04
I0304 05:06:07.100000 1 sync.go:291] cert-manager/challenges "msg"="propagation check failed" "error"="DNS record for \"orders.nordlicht.example\" not yet propagated" "dnsName"="_acme-challenge.orders.nordlicht.example" "key"="<=base64url 32=>.<=base64url 32=>"
E0304 05:06:08.000000 1 sync.go:190] "msg"="issuing certificate failed" "error"="secret \"letsencrypt-account-key\" not found"
=== estate external secrets
{"level":"info","ts":1772600767.1,"logger":"controllers.ExternalSecret","msg":"reconciled secret","ExternalSecret":{"name":"orders-credentials","namespace":"orders"},"start-reconcile-time":0.012}
{"level":"error","ts":1772600768.1,"logger":"controllers.ExternalSecret","msg":"Reconciler error","error":"could not get secret data from provider: cannot find secret data for key: \"password\""}
{"level":"info","ts":1772600769.1,"logger":"provider.vault","msg":"fetching secret","key":"secret/data/orders/db","property":"password","version":"3"}
=== estate mysql
2026-03-04T05:06:07.123456Z 12 [Note] [MY-010914] [Server] Access denied for user 'root'@'10.42.0.9' (using password: NO)
2026-03-04T05:06:07.223456Z 0 [Warning] [MY-010068] [Server] CA certificate ca.pem is self signed.
2026-03-04T05:06:07.323456Z 0 [System] [MY-013602] [Server] Channel mysql_main configured to support TLS. Encrypted connections are now supported for this channel.
2026-03-04T05:06:07.423456Z 9 [Warning] [MY-013360] [Server] Plugin mysql_native_password reported: ''mysql_native_password' is deprecated and will be removed in a future release.'
2026-03-04T05:06:07.523456Z 0 [Note] [MY-010253] [Server] IPv6 is available. server_uuid=<=uuid=>
=== estate mongo
{"t":{"$date":"2026-03-04T05:06:07.123Z"},"s":"I","c":"ACCESS","id":5286306,"ctx":"conn812","msg":"Successfully authenticated","attr":{"client":"10.42.0.9:41122","isSpeculative":true,"isClusterMember":false,"mechanism":"SCRAM-SHA-256","user":"orders","db":"admin"}}
{"t":{"$date":"2026-03-04T05:06:08.123Z"},"s":"I","c":"NETWORK","id":51800,"ctx":"conn813","msg":"client metadata","attr":{"uuid":{"uuid":{"$uuid":"<=uuid=>"}}}}
{"t":{"$date":"2026-03-04T05:06:09.123Z"},"s":"I","c":"COMMAND","id":51803,"ctx":"conn814","msg":"Slow query","attr":{"ns":"orders.sessions","command":{"find":"sessions","filter":{"tokenHash":"###"}},"planSummary":"IXSCAN { tokenHash: 1 }","queryHash":"<=hex 8=>","keysExamined":1}}
=== estate elastic
{"@timestamp":"2026-03-04T05:06:07.123Z","log.level":"WARN","message":"Authentication of [elastic] was terminated by realm [reserved] - failed to authenticate user [elastic]","elasticsearch.cluster.uuid":"<=base62 22=>","elasticsearch.node.id":"<=base62 22=>"}
{"@timestamp":"2026-03-04T05:06:08.123Z","log.level":"INFO","message":"license [<=uuid=>] mode [basic] - valid","elasticsearch.node.name":"es-0"}
{"@timestamp":"2026-03-04T05:06:09.123Z","log.level":"INFO","message":"Active license is now [BASIC]; Security is enabled","ecs.version":"1.2.0"}
=== estate kafka
[2026-03-04 05:06:07,123] INFO [SocketServer listenerType=BROKER, nodeId=0] Failed authentication with /10.42.0.9 (channelId=10.42.0.10:9093-10.42.0.9:41122-812) (Authentication failed during authentication due to invalid credentials with SASL mechanism SCRAM-SHA-512)
[2026-03-04 05:06:07,223] INFO Creating new log segment for orders.token-events-3 offset=118221 (kafka.log.UnifiedLog)
[2026-03-04 05:06:07,323] INFO [GroupCoordinator 0]: Member etl-<=uuid=> in group etl has left, rebalance key=orders
[2026-03-04 05:06:07,423] WARN [Producer clientId=cdc] Got error produce response with correlation id 812 on topic-partition passwords-reset-0
=== estate ci
Fetching changes with git depth set to 20...
Checking out <=short=> as detached HEAD (ref is main)...
$ echo "$CI_REGISTRY_PASSWORD" | docker login -u "$CI_REGISTRY_USER" --password-stdin $CI_REGISTRY
WARNING! Your password will be stored unencrypted in /root/.docker/config.json.
Login Succeeded
Digest: sha256:<=sha256=>
#12 exporting config sha256:<=sha256=> done
#12 pushing manifest for registry.nordlicht.example/orders/api:<=short=>@sha256:<=sha256=> 0.4s done
Using docker image sha256:<=sha256=> for registry.nordlicht.example/ci/helm:3.14.2 with digest registry.nordlicht.example/ci/helm@sha256:<=sha256=> ...
Creating cache 0_package-lock-<=hex 40=>-protected...
Masking variables: NPM_TOKEN, SONAR_TOKEN, KUBE_PASSWORD
Job succeeded
=== estate tests
PASS src/auth/password.test.ts
  ✓ rejects a password without digits (12 ms)
  ✓ refreshes the token before it expires (31 ms)
FAILED tests/test_login.py::test_wrong_password - AssertionError: assert 401 == 403
tests/test_tokens.py::TestTokens::test_revoked_token PASSED [ 41%]
Ran 112 tests: PasswordServiceTest, ApiKeyFilterTest, TokenRepositoryIT
Expected password "******" but was null
coverage: auth/token.go 87.4%, secrets/loader.go 91.0%
=== estate train
epoch 3 step 1200 loss 0.4123 tokens/s 48211 lr 2.1e-05 grad_norm 0.81
Saved checkpoint to s3://nordlicht-ml/runs/<=hex 32=>/checkpoints/step-1200 (sha256 <=sha256=>)
Special tokens have been added in the vocabulary, make sure the associated word embeddings are fine-tuned or trained.
Token indices sequence length is longer than the specified maximum sequence length for this model (612 > 512).
The cache_key for this dataset is <=hex 32=>, reusing /models/cache/datasets/<=hex 64=>
Setting `pad_token_id` to `eos_token_id`:2 for open-end generation.
wandb: Run data is saved locally in /app/wandb/run-20260304_050607-<=lower 8=>
Some weights of the model checkpoint were not used: ['cls.predictions.decoder.weight', 'key_projection.bias']
=== estate mail
2026-03-04T05:06:07.123456+00:00 mx postfix/smtpd[812]: connect from unknown[10.42.0.9]
2026-03-04T05:06:07.223456+00:00 mx postfix/smtpd[812]: warning: unknown[203.0.113.9]: SASL LOGIN authentication failed: UGFzc3dvcmQ6, sasl_username=info@nordlicht.example
2026-03-04T05:06:07.323456+00:00 mx postfix/cleanup[813]: <=upper 10=>: message-id=<<=hex 16=>.<=digits 10=>@shop.nordlicht.example>
2026-03-04T05:06:07.423456+00:00 mx postfix/smtp[814]: <=upper 10=>: to=<jana@nordlicht.example>, relay=smtp.nordlicht.example[10.1.0.25]:587, status=sent (250 2.0.0 Ok: queued as <=upper 10=>)
=== estate ssh
Accepted publickey for git from 10.42.0.9 port 41122 ssh2: ED25519 SHA256:<=base62 43=>
Failed password for invalid user admin from 203.0.113.9 port 51022 ssh2
Connection closed by authenticating user root 203.0.113.9 port 51024 [preauth]
pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=203.0.113.9 user=root
Server host key: ssh-ed25519 SHA256:<=base62 43=>
=== estate php fpm
[04-Mar-2026 05:06:07] WARNING: [pool www] child 17 said into stderr: "PHP Notice:  Undefined index: password in /var/www/html/login.php on line 12"
PHP Deprecated:  Creation of dynamic property Auth::$token is deprecated in /var/www/html/lib/Auth.php on line 31
[04-Mar-2026 05:06:08] NOTICE: fpm is running, pid 1
PHP Fatal error:  Uncaught TypeError: hash_hmac(): Argument #3 ($key) must be of type string, null given in /var/www/html/lib/Sign.php:9
=== estate windows
warn: Microsoft.AspNetCore.DataProtection.KeyManagement.XmlKeyManager[35] No XML encryptor configured. Key {<=uuid=>} may be persisted to storage in unencrypted form.
info: Microsoft.AspNetCore.Authentication.JwtBearer.JwtBearerHandler[1] Failed to validate the token.
      Microsoft.IdentityModel.Tokens.SecurityTokenExpiredException: IDX10223: Lifetime validation failed. The token is expired. ValidTo (UTC): '3/4/2026 5:01:07 AM'
info: Microsoft.EntityFrameworkCore.Database.Command[20101] Executed DbCommand (2ms) [Parameters=[@__login_0='?' (Size = 64)], CommandType='Text']
dbug: Billing.Auth[0] Password verification result: Success for user 4711
=== estate people
ole: wer hat das Passwort vom Lagersystem? bitte nicht hier posten, steht im Tresor
jana: token ist abgelaufen, ich erneuere ihn gleich 🔑
mehmet: the password: ask Jana. The key: at the front desk.
jana: login mit SSO geht wieder, Passwort braucht ihr nicht mehr
deploy-bot: orders 1.44.2 (<=short=>) is live, secret orders-credentials unchanged
ole: Fehler "invalid token" kommt vom falschen Mandanten, nicht vom Passwort
"""
