"""The first held-out set: forms that were kept from whoever wrote the rules until these had been measured; known since,
and part of main."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any, Final

from security_tests.redaction import kinds, lookalikes, scenery, specials
from security_tests.redaction.chance import Chance
from security_tests.redaction.sheet import Document, Sheet
from security_tests.redaction.specials import Case

__all__ = ["documents"]

_REPEATS: Final = 2
_TOGETHER: Final = 6

FILES: Final = (
    Case("pip.conf", lambda s, x: f"[global]\nindex-url = https://ci:{x(s.chance.strong())}@pypi.example.com/simple\ntrusted-host = pypi.example.com\n", "pip.conf"),
    Case("Composer auth", lambda s, x: json.dumps({"http-basic": {"repo.example.com": {"username": "ci", "password": x(s.chance.dull())}}, "github-oauth": {"github.com": x("gh" + "o_" + s.chance.base62(36))}}), "auth.json"),
    Case("wp-config.php", lambda s, x: f"<?php\ndefine( 'DB_NAME', 'wp' );\ndefine( 'DB_PASSWORD', '{x(s.chance.dull())}' );\ndefine('AUTH_KEY', '{x(s.chance.base62(64))}');\n", "wp-config.php"),
    Case("PHP array", lambda s, x: f"<?php return ['connections' => ['mysql' => ['username' => 'app', 'password' => '{x(s.chance.dull())}', 'port' => 3306]]];\n", "database.php"),
    Case("Ruby hash", lambda s, x: f"Rails.application.config.smtp = {{ user_name: 'mail', password: '{x(s.chance.strong())}', port: 587 }}\n", "smtp.rb"),
    Case("Logstash output", lambda s, x: f'output {{ elasticsearch {{ hosts => ["es:9200"] user => "logstash" password => "{x(s.chance.dull())}" index => "a" }} }}\n', "logstash.conf"),
    Case("Fluentd output", lambda s, x: f"<match **>\n  @type elasticsearch\n  host es\n  user fluent\n  password {x(s.chance.strong())}\n</match>\n", "fluent.conf"),
    Case("HAProxy user list", lambda s, x: f"userlist ops\n  user admin insecure-password {x(s.chance.strong())}\n", "haproxy.cfg"),
    Case("nginx header", lambda s, x: f'location / {{\n  proxy_set_header Authorization "Basic {x(base64.b64encode(f"svc:{s.chance.strong()}".encode()).decode())}";\n  proxy_pass http://up;\n}}\n', "nginx.conf"),
    Case("nginx token header", lambda s, x: f'proxy_set_header X-Api-Key "{x(s.chance.base62(32))}";\nproxy_read_timeout 30s;\n', "proxy.conf"),
    Case("RabbitMQ conf", lambda s, x: f"listeners.tcp.default = 5672\ndefault_user = app\ndefault_pass = {x(s.chance.dull())}\n", "rabbitmq.conf"),
    Case("MySQL client file", lambda s, x: f"[client]\nuser = root\npassword = {x(s.chance.strong())}\nhost = db\n", "my.cnf"),
    Case("SQL user", lambda s, x: f"CREATE USER 'app'@'%' IDENTIFIED BY '{x(s.chance.dull())}';\nGRANT ALL ON app.* TO 'app'@'%';\n", "init.sql"),
    Case("SQL role", lambda s, x: f"CREATE ROLE app LOGIN PASSWORD '{x(s.chance.strong())}' VALID UNTIL 'infinity';\n", "roles.sql"),
    Case("Mongo user", lambda s, x: f'db.createUser({{ user: "app", pwd: "{x(s.chance.dull())}", roles: ["readWrite"] }});\n', "init.js"),
    Case("JavaScript settings", lambda s, x: f"module.exports = {{ port: 8080, jwtSecret: '{x(s.chance.base62(40))}', db: {{ password: \"{x(s.chance.dull())}\" }} }};\n", "config.js"),
    Case("HCL", lambda s, x: f'provider "postgresql" {{\n  host     = "db"\n  username = "app"\n  password = "{x(s.chance.strong())}"\n}}\n', "main.tf"),
    Case("Dockerfile", lambda s, x: f"FROM alpine\nARG NPM_TOKEN={x('np' + 'm_' + s.chance.base62(36))}\nENV DB_PASS {x(s.chance.dull())}\n", "Dockerfile"),
    Case("Compose file", lambda s, x: f"services:\n  db:\n    environment:\n      - POSTGRES_USER=app\n      - POSTGRES_PASSWORD={x(s.chance.dull())}\n      - TZ=UTC\n", "compose.yaml"),
    Case("YAML flow", lambda s, x: f"db: {{host: db, user: app, password: {x(s.chance.dull())}, port: 5432}}\n", "db.yaml"),
    Case("YAML folded", lambda s, x: f"apiToken: >-\n  {x(s.chance.base62(40))}\nport: 80\n", "folded.yaml"),
    Case("YAML with comment", lambda s, x: f"smtp:\n  password: {x(s.chance.strong())}  # rotate in May\n  port: 587\n", "smtp.yaml"),
    Case("commented out", lambda s, x: f"port=8080\n# db.password={x(s.chance.dull())}\nlevel=info\n", "old.properties"),
    Case("unicode in password", lambda s, x: f'admin_password = "{x("pässwört" + s.chance.digits(5))}"\n', "unicode.toml"),
    Case("XML with CDATA", lambda s, x: f"<datasource><user>sa</user><password><![CDATA[{x(s.chance.strong())}]]></password></datasource>\n", "ds.xml"),
    Case("web.config", lambda s, x: f'<connectionStrings><add name="Main" connectionString="Server=sql;Database=app;User Id=app;Password={x(s.chance.strong())};" /></connectionStrings>\n', "web.config"),
    Case("Tomcat users", lambda s, x: f'<tomcat-users><user username="admin" password="{x(s.chance.dull())}" roles="manager-gui"/></tomcat-users>\n', "tomcat-users.xml"),
    Case("rclone.conf", lambda s, x: f"[s3]\ntype = s3\naccess_key_id = {x('AK' + 'IA' + s.chance.upper(16))}\nsecret_access_key = {x(s.chance.base64(30))}\nregion = eu-central-1\n", "rclone.conf"),
    Case("restic environment", lambda s, x: f"RESTIC_REPOSITORY=s3:s3.example.com/backup\nRESTIC_PASSWORD={x(s.chance.phrase().replace(' ', '-'))}\n", "restic.env"),
    Case("OpenVPN static key", lambda s, x: "-" * 5 + "BEGIN OpenVPN Static key V1" + "-" * 5 + "\n" + x("\n".join(s.chance.hex(32) for _ in range(16))) + "\n" + "-" * 5 + "END OpenVPN Static key V1" + "-" * 5 + "\n", "ta.key"),
    Case("PuTTY key", lambda s, x: f"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ops\nPrivate-Lines: 1\n{x(s.chance.base64(36))}\nPrivate-MAC: {s.chance.hex(64)}\n", "key.ppk"),
    Case("JWK private", lambda s, x: json.dumps({"kty": "EC", "crv": "P-256", "kid": s.chance.base64url(12), "x": s.chance.base64url(32), "y": s.chance.base64url(32), "d": x(s.chance.base64url(32))}), "jwk.json"),
    Case("oidc client", lambda s, x: f"staticClients:\n- id: argo\n  name: Argo\n  secret: {x(s.chance.base62(24))}\n  redirectURIs: [https://argo.example.com/cb]\n", "dex.yaml"),
    Case("zlib in base64", lambda s, x: base64.b64encode(zlib.compress(f"DB_PASSWORD={x(s.chance.strong())}\nPORT=1\n".encode())).decode(), "packed"),
    Case("base64 without padding", lambda s, x: base64.b64encode(f"db.password={x(s.chance.strong())};a=b".encode()).decode().rstrip("="), "unpadded"),
    Case("base64 in lines", lambda s, x: base64.encodebytes(f"server.port=8080\nserver.host=0.0.0.0\nspring.datasource.username=app\nspring.datasource.password={x(s.chance.strong())}\n".encode()).decode(), "wrapped"),
    Case("base64url", lambda s, x: base64.urlsafe_b64encode(f'???>>>{{"password":"{x(s.chance.strong())}"}}'.encode()).decode(), "urlsafe"),
    Case("data URL", lambda s, x: "data:text/plain;base64," + base64.b64encode(f"API_TOKEN={x(s.chance.base62(40))}\n".encode()).decode(), "ignition"),
)  # fmt: skip

LINES: Final = (
    Case("coloured log", lambda s, x: f"\x1b[36mINFO\x1b[0m[0001] connected  \x1b[36mdb_password\x1b[0m={x(s.chance.dull())} \x1b[36mport\x1b[0m=5432"),
    Case("coloured JSON log", lambda s, x: f'\x1b[32m"apiKey"\x1b[39m: \x1b[33m"{x(s.chance.base62(32))}"\x1b[39m'),
    Case("Go struct dump", lambda s, x: f"2026/03/04 config: {{Host:db Port:5432 User:app Password:{x(s.chance.strong())} Debug:false}}"),
    Case("Go-syntax dump", lambda s, x: f'config.DB{{Host:"db", Port:5432, Password:"{x(s.chance.dull())}", TLS:false}}'),
    Case("Rust debug", lambda s, x: f'DEBUG Config {{ url: "http://a", api_key: Some("{x(s.chance.base62(32))}"), retries: 3 }}'),
    Case("Ruby inspect", lambda s, x: f'{{:host=>"db", :password=>"{x(s.chance.dull())}", :port=>5432}}'),
    Case("Java record", lambda s, x: f"Credentials[username=app, password={x(s.chance.dull())}]"),
    Case("PHP dump", lambda s, x: f"array(2) {{ ['password'] => string(12) \"{x(s.chance.strong())}\" }}"),
    Case("Python exception", lambda s, x: f"psycopg2.OperationalError: connection to server failed: could not parse DSN 'dbname=app user=app password={x(s.chance.dull())} host=db'"),
    Case("Go URL error", lambda s, x: f'panic: parse "postgres://app:{x(s.chance.strong() + "%zz")}@db:5432/app": invalid URL escape "%zz"'),
    Case("ldapsearch -w", lambda s, x: f"+ ldapsearch -x -D cn=admin,dc=example,dc=com -w {x(s.chance.strong())} -b dc=example"),
    Case("openssl -passin", lambda s, x: f"+ openssl rsa -in key.pem -passin pass:{x(s.chance.strong())} -out plain.pem"),
    Case("keytool", lambda s, x: f"+ keytool -importcert -keystore t.jks -storepass {x(s.chance.dull())} -noprompt"),
    Case("az login", lambda s, x: f"+ az login --service-principal -u {s.chance.uuid()} -p {x(s.chance.base62(34))} --tenant {s.chance.uuid()}"),
    Case("mongosh -p", lambda s, x: f"+ mongosh --host mongo -u root -p {x(s.chance.strong())} --eval 'db.stats()'"),
    Case("wget", lambda s, x: f"+ wget --user=ci --password={x(s.chance.dull())} https://files.example.com/a.tgz"),
    Case("helm --set", lambda s, x: f"+ helm upgrade app ./chart --set auth.password={x(s.chance.dull())} --set replicas=2"),
    Case("kubectl create secret", lambda s, x: f"+ kubectl create secret generic db --from-literal=password={x(s.chance.strong())} --dry-run=client"),
    Case("curl header", lambda s, x: f'+ curl -H "PRIVATE-TOKEN: {x("gl" + "pat-" + s.chance.base62(20))}" https://gitlab.example.com/api/v4/user'),
    Case("curl body", lambda s, x: "+ curl -d '" + json.dumps({"username": "app", "password": x(s.chance.dull())}) + "' https://idp.example.com/login"),
    Case("proxy header", lambda s, x: f"> Proxy-Authorization: Basic {x(base64.b64encode(f'p:{s.chance.strong()}'.encode()).decode())}"),
    Case("vault header", lambda s, x: f"> X-Vault-Token: {x('s' + '.' + s.chance.base62(24))}"),
    Case("AWS header", lambda s, x: f"> X-Amz-Security-Token: {x('IQoJb3JpZ2luX2Vj' + s.chance.base64(120))}"),
    Case("signed URL", lambda s, x: f"GET https://b.s3.amazonaws.com/o?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=900&X-Amz-Signature={x(s.chance.hex(64))} 200"),
    Case("OAuth code", lambda s, x: f"POST /oauth/token client_id=shop&client_secret={x(s.chance.base62(40))}&grant_type=client_credentials"),
    Case("magic link", lambda s, x: f"mail sent: https://shop.example.com/reset-password?token={x(s.chance.base62(48))}"),
    Case("journal of Jupyter", lambda s, x: f"    http://127.0.0.1:8888/lab?token={x(s.chance.hex(48))}"),
    Case("Jenkins first password", lambda s, x: f"Please use the following password to proceed to installation:\n\n{x(s.chance.hex(32))}\n\nThis may also be found at: /var/jenkins_home/secrets/initialAdminPassword"),
    Case("Elasticsearch first password", lambda s, x: f"Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`):\n  {x(s.chance.base62(20))}"),
    Case("MySQL first password", lambda s, x: f"[Note] A temporary password is generated for root@localhost: {x(s.chance.strong())}"),
    Case("Vault unseal key", lambda s, x: f"Unseal Key 1: {x(s.chance.base64(33))}\nInitial Root Token: {x('hv' + 's.' + s.chance.base62(24))}"),
    Case("kubeadm join", lambda s, x: f"kubeadm join 10.0.0.1:6443 --token {x(s.chance.lower(6) + '.' + s.chance.lower(16))} --discovery-token-ca-cert-hash sha256:{s.chance.hex(64)}"),
    Case("CSV of users", lambda s, x: f"name,email,password\nalice,alice@example.com,{x(s.chance.strong())}"),
    Case("table of settings", lambda s, x: f"| db.user     | app |\n| db.password | {x(s.chance.dull())} |"),
    Case("German prose", lambda s, x: f"Neues Passwort für app: {x(s.chance.strong())}"),
    Case("prose with is", lambda s, x: f"NOTICE: the default admin password is {x(s.chance.strong())}, please change it"),
    Case("prose with quotes", lambda s, x: f'created user "app" with password "{x(s.chance.dull())}"'),
    Case("double escaped JSON", lambda s, x: json.dumps(json.dumps({"msg": json.dumps({"password": x(s.chance.strong())})}))),
    Case("URL-encoded JSON", lambda s, x: f"GET /cb?state=%7B%22token%22%3A%22{x(s.chance.base62(40))}%22%7D HTTP/1.1"),
    Case("password with specials", lambda s, x: f"DB_PASSWORD={x(s.chance.base62(4) + '#$%&' + s.chance.base62(6) + ':/' + s.chance.base62(4))}"),
    Case("DSN with specials", lambda s, x: f"connecting to postgres://app:{x(s.chance.base62(4) + '%40%2F' + s.chance.base62(6) + '!$' + s.chance.base62(3))}@db:5432/app"),
    Case("key and value on two lines", lambda s, x: f"Access Key:\n{x('AK' + 'IA' + s.chance.upper(16))}\nSecret Key:\n{x(s.chance.base64(30))}"),
    Case("CRI-O partial lines", lambda s, x: f"2026-03-04T05:06:07.123456789Z stdout F api_key={x(s.chance.base62(32))}"),
)  # fmt: skip

SPECS: Final = (
    Case("name and value pairs", lambda s, x: {"parameters": [{"key": "db.password", "value": x(s.chance.dull())}, {"key": "db.port", "value": "5432"}]}),
    Case("Argo parameters", lambda s, x: {"source": {"helm": {"parameters": [{"name": "auth.postgresPassword", "value": x(s.chance.dull())}]}}}),
    Case("Tekton parameters", lambda s, x: {"params": [{"name": "git-token", "value": x(s.chance.base62(40))}, {"name": "revision", "value": "main"}]}),
    Case("nested literal", lambda s, x: {"users": [{"name": "app", "password": {"plain": x(s.chance.dull())}}]}),
    Case("MinIO tenant", lambda s, x: {"configuration": {"accesskey": x(s.chance.upper(20)), "secretkey": x(s.chance.base62(40))}}),
    Case("Datadog agent", lambda s, x: {"global": {"site": "datadoghq.eu", "credentials": {"apiKey": x(s.chance.hex(32)), "appKey": x(s.chance.hex(40))}}}),
    Case("Slack receiver", lambda s, x: {"receivers": [{"slackConfigs": [{"apiURL": x("https://hooks.slack.com/ser" + f"vices/T{s.chance.upper(9)}/B{s.chance.upper(9)}/{s.chance.base62(24)}" ), "channel": "#ops"}]}]}),
    Case("VolumeAttributes", lambda s, x: {"csi": {"driver": "smb.csi.k8s.io", "volumeAttributes": {"source": "//nas/share", "username": "u", "password": x(s.chance.dull())}}}),
    Case("mountOptions", lambda s, x: {"mountOptions": ["vers=3.0", f"username=svc,password={x(s.chance.strong())}", "dir_mode=0777"]}),
    Case("user data", lambda s, x: {"userData": base64.b64encode(f"#!/bin/bash\nexport NODE_TOKEN={x(s.chance.base62(40))}\n/opt/join.sh\n".encode()).decode()}),
    Case("files of a machine", lambda s, x: {"files": [{"path": "/etc/app/password", "permissions": "0600", "content": x(s.chance.strong())}]}),
    Case("registry mirror", lambda s, x: {"configs": {"registry.example.com": {"auth": {"username": "robot", "password": x(s.chance.strong())}}}}),
)  # fmt: skip

ENV: Final[dict[str, Callable[[Chance], str]]] = {
    "DB_PASS": lambda c: c.dull(), "MYSQL_PWD": lambda c: c.dull(), "SECRET_KEY": lambda c: c.base62(50), "POSTGRES_PASSWORD": lambda c: "postgres" + c.digits(2), "TF_VAR_db_password": lambda c: c.dull(),
    "spring.datasource.password": lambda c: c.dull(), "ConnectionStrings__Default": lambda c: f"Server=db;User Id=sa;Password={c.strong()};", "RABBITMQ_ERLANG_COOKIE": lambda c: c.upper(20),
    "ENCRYPTIONKEY": lambda c: c.base62(32), "APIKEY": lambda c: c.base62(24), "JWT_SIGNING_KEY": lambda c: c.base64(32), "NEXTAUTH_SECRET": lambda c: c.base64(32), "SENTRY_AUTH_TOKEN": lambda c: c.hex(64),
    "BASIC_AUTH": lambda c: f"admin:{c.strong()}", "HTTP_PROXY": lambda c: f"http://proxyuser:{c.strong()}@proxy:3128", "GIT_REMOTE": lambda c: f"https://{'gh' + 'p_' + c.base62(36)}@github.com/a/b.git",
}  # fmt: skip
_CORES: Final = {
    "ConnectionStrings__Default": ("Password=", ";"),
    "BASIC_AUTH": (":", "\n"),
    "HTTP_PROXY": ("proxyuser:", "@"),
    "GIT_REMOTE": ("//", "@"),
}

PLAIN_ENV: Final[dict[str, Callable[[Chance], str]]] = {
    "SECRETS_DIR": lambda c: "/vault/secrets", "TOKENS_PER_MINUTE": lambda c: str(c.number(100, 9999)), "PASSWORD_RESET_URL": lambda c: f"https://{c.word()}.example.com/reset", "KEYSPACE": lambda c: f"{c.word()}_prod",
    "PRIMARY_KEY_COLUMN": lambda c: "id", "AUTHENTICATION_BACKEND": lambda c: "ldap", "ACCESS_KEY_SECRET_NAME": lambda c: f"{c.word()}-s3", "TOKEN_REFRESH_INTERVAL": lambda c: "300s", "CREDENTIAL_STORE": lambda c: "secretservice",
    "DB_PASSWORD_SECRET_ARN": lambda c: f"arn:aws:secretsmanager:eu-central-1:{c.digits(12)}:secret:{c.word()}-{c.base62(6)}", "AUTH_TOKEN_COOKIE_NAME": lambda c: "sid", "SSH_AUTH_SOCK": lambda c: "/tmp/ssh/agent.sock",
    "SECRET_MANAGER_PROJECT": lambda c: "shop-prod", "WEBHOOK_PATH": lambda c: f"/hooks/{c.word()}", "APP_KEYSTORE": lambda c: "/etc/app/keystore.jks", "DOCKER_CONTENT_TRUST": lambda c: "1", "KEY_ROTATION": lambda c: "enabled",
    "NODE_OPTIONS": lambda c: f"--max-old-space-size={c.number(256, 4096)}", "CACHE_TOKENS": lambda c: "false", "PASSPHRASE_REQUIRED": lambda c: "no", "BUILD_TAG": lambda c: f"jenkins-{c.word()}-{c.number(1, 999)}", "CONSUL_KEY": lambda c: f"config/{c.word()}/settings",
    "KMS_KEY_ID": lambda c: f"arn:aws:kms:eu-central-1:{c.digits(12)}:key/{c.uuid()}", "ORDER_ID_SEED": lambda c: c.uuid(), "TRACE_SAMPLE": lambda c: "0.25", "INSTANCE": lambda c: f"i-{c.hex(17)}", "HASHED_ASSET": lambda c: f"main.{c.hex(20)}.css",
}  # fmt: skip
PLAIN_LINES: Final[dict[str, Callable[[Chance], str]]] = {
    "403": lambda c: f'secrets "{c.word()}-token" is forbidden: User "system:serviceaccount:shop:{c.word()}" cannot get resource "secrets" in API group "" in the namespace "shop"', "rotate": lambda c: f"password rotation scheduled for {c.word()} in 30 days",
    "argocd": lambda c: f"Comparing app state (cluster: https://kubernetes.default.svc, namespace: shop) revision={c.hex(40)}", "istio": lambda c: f'[2026-03-04T05:06:07.123Z] "GET /x HTTP/1.1" 200 - via_upstream - "-" 0 {c.digits(4)} 12 11 "-" "curl/8" "{c.uuid()}" "svc:80" outbound|80||svc.shop.svc.cluster.local',
    "etcd": lambda c: f'{{"level":"info","msg":"restored snapshot","cluster-id":"{c.hex(16)}","member-id":"{c.hex(16)}","wal-hash":"{c.hex(8)}"}}', "cert": lambda c: f"certificate serial {c.hex(36)} expires in {c.number(1, 90)} days", "cosign": lambda c: f"Verified signature sha256-{c.hex(64)}.sig for ghcr.io/shop/{c.word()}",
    "token count": lambda c: f"llm usage input_tokens: {c.number(1, 9999)} output_tokens: {c.number(1, 999)} max_token: 4096", "kafka": lambda c: f"[Consumer clientId=consumer-{c.word()}-1, groupId={c.word()}] Successfully joined group with generation Generation{{generationId={c.number(1, 99)}, memberId='consumer-{c.uuid()}', protocol='range'}}",
    "postgres": lambda c: f'LOG:  connection authenticated: identity="{c.word()}" method=scram-sha-256 (/etc/pg_hba.conf:{c.number(1, 99)})', "spring filter": lambda c: "o.s.s.web.DefaultSecurityFilterChain : Will secure any request with filters: UsernamePasswordAuthenticationFilter, CsrfFilter", "passwd": lambda c: "useradd: warning: /etc/passwd entry exists",
    "systemd": lambda c: f"run-containerd-runc-k8s.io-{c.hex(64)}-runc.{c.base62(6)}.mount: Deactivated successfully.", "git": lambda c: f"   {c.hex(9)}..{c.hex(9)}  main -> origin/main", "jti": lambda c: f"token accepted jti={c.uuid()} sub={c.word()} exp=1760003600", "kid": lambda c: f"no matching key for kid {c.base64url(20)}",
    "dns": lambda c: f'[INFO] 10.42.0.{c.number(1, 254)}:{c.number(30000, 60000)} - {c.number(1, 65000)} "A IN {c.word()}.shop.svc.cluster.local. udp 54 false 512" NOERROR', "npm": lambda c: f"added {c.number(10, 900)} packages, integrity sha512-{c.base64(64)}", "memory": lambda c: f"fatal error: found bad pointer in Go heap: 0xc{c.hex(9)}",
    "prompt": lambda c: "Enter password: ", "help flag": lambda c: "  -p, --password-stdin   take the password from stdin", "ask": lambda c: "error: please provide --token or set API_TOKEN", "user": lambda c: f"user={c.word()} password=<nil> method=oidc", "hidden": lambda c: f"connecting with password=**** to {c.word()}", "set": lambda c: "password: [set]",
    "basic realm": lambda c: 'WWW-Authenticate: Basic realm="Registry"', "bearer realm": lambda c: f'WWW-Authenticate: Bearer realm="https://auth.example.com/token",service="registry",scope="repository:{c.word()}:pull"', "cookie": lambda c: "Set-Cookie: lang=en; Path=/", "content md5": lambda c: f"Content-MD5: {c.base64(16)}",
    "api group": lambda c: "failed to list *v1.Secret: the server could not find the requested resource", "license": lambda c: "SPDX-License-Identifier: Apache-2.0", "word": lambda c: f"keyboard interrupt, author {c.word()}, tokenization took {c.number(1, 9)}s", "flags": lambda c: 'FLAG: --token-auth-file=""', "flag false": lambda c: 'FLAG: --service-account-lookup="true"',
}  # fmt: skip
PLAIN_FILES: Final[dict[str, Callable[[Chance], str]]] = {
    "gatekeeper": lambda c: 'violation[{"msg": msg}] {\n  input.review.object.kind == "Secret"\n  msg := "no password literals"\n}', "kustomize": lambda c: f"secretGenerator:\n- name: {c.word()}\n  envs: [secret.env]\ngeneratorOptions:\n  disableNameSuffixHash: true", "vault policy": lambda c: f'path "secret/data/{c.word()}/*" {{\n  capabilities = ["read"]\n}}',
    "vault agent": lambda c: f'{{{{ with secret "database/creds/{c.word()}" }}}}\nusername={{{{ .Data.username }}}}\npassword={{{{ .Data.password }}}}\n{{{{ end }}}}', "jinja": lambda c: "db_password: '{{ lookup(\"env\", \"DB_PASSWORD\") }}'", "helm values": lambda c: f'auth:\n  password: ""\n  existingSecret: {c.word()}\n  secretKeys:\n    adminPasswordKey: postgres-password',
    "envsubst": lambda c: "DB_PASSWORD=${DB_PASSWORD}\nTOKEN=$TOKEN\nKEY=${KEY:-}", "dashboards": lambda c: json.dumps({"uid": c.base62(9), "title": "Password resets", "targets": [{"expr": f'sum(rate(logins_total{{app="{c.word()}"}}[5m]))'}]}), "package-lock": lambda c: json.dumps({"node_modules/a": {"resolved": "https://npm.example.org/a/-/a-1.0.0.tgz", "integrity": f"sha512-{c.base64(64)}"}}),
    "cargo lock": lambda c: f'name = "{c.word()}"\nversion = "1.0.{c.number(0, 9)}"\nchecksum = "{c.hex(64)}"', "coredns": lambda c: ".:53 {\n  errors\n  forward . /etc/resolv.conf\n  cache 30\n}", "ssh config": lambda c: f"Host {c.word()}\n  IdentityFile ~/.ssh/id_ed25519\n  PasswordAuthentication no", "oidc discovery": lambda c: json.dumps({"token_endpoint": "https://idp.example.com/token", "token_endpoint_auth_methods_supported": ["client_secret_basic"]}),
    "openapi": lambda c: json.dumps({"securitySchemes": {"bearerAuth": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}, "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}}), "python": lambda c: "def check_password(password: str, hashed: str) -> bool:\n    return bcrypt.checkpw(password.encode(), hashed.encode())", "go": lambda c: 'token := os.Getenv("API_TOKEN")\nif token == "" {\n\tlog.Fatal("API_TOKEN is not set")\n}',
    "shell": lambda c: 'PASSWORD=$(cat /run/secrets/password)\nexport TOKEN="$(vault read -field=token auth/token)"', "certificate in YAML": lambda c: "ca: |\n" + "\n".join("  " + line for line in kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", 500).split("\n")), "ssh public": lambda c: f"ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBB{c.base62(86)}= {c.word()}", "age recipient": lambda c: f"age1{c.draw('qpzry9x8gf2tvdw0s3jn54khce6mua7l', 58)}",
    "base64 of a certificate": lambda c: base64.b64encode(kinds.pem(c, "CERTIFICATE", "MIIDdzCCAl+gAwIBAgIE", 300).encode()).decode(), "image": lambda c: "data:image/png;base64,iVBORw0KGgo" + c.base62(200), "uuid list": lambda c: "\n".join(c.uuid() for _ in range(4)), "hash list": lambda c: "\n".join(f"{c.hex(64)}  file-{n}.bin" for n in range(4)), "crontab": lambda c: f"MAILTO={c.word()}@example.com\n*/5 * * * * /usr/bin/check --key-file /etc/key",
}  # fmt: skip


def documents() -> Iterator[Document]:
    """Every form twice, with other values; and the look-alikes three times."""
    for repeat in range(_REPEATS):
        for write, cases in ((specials.configmap, FILES), (specials.log, LINES), (specials.spec, SPECS)):
            for at in range(0, len(cases), _TOGETHER):
                yield write(f"held-out {write.__name__} {repeat}.{at}", cases[at : at + _TOGETHER])
        yield _environment(f"held-out environment {repeat}")
        yield _refused(f"held-out refusal {repeat}")
    for repeat in range(3):
        yield lookalikes.settings(f"held-out settings {repeat}", PLAIN_ENV)
        yield lookalikes.lines(f"held-out log {repeat}", PLAIN_LINES)
        yield lookalikes.messages(f"held-out events {repeat}", PLAIN_LINES)
        yield lookalikes.entries(f"held-out files {repeat}", PLAIN_FILES)


def _environment(name: str) -> Document:
    sheet = Sheet(Chance(name))
    variables: list[dict[str, Any]] = []
    for key, make in ENV.items():
        value = make(sheet.chance)
        start, end = _CORES.get(key, ("", ""))
        core = (value.split(start)[1].split(end)[0],) if start else ()
        variables.append({"name": key, "value": sheet.secret(f"variable {key}", "env", value, *core)})
    items = [scenery.pod(sheet, f"env{at}", {"env": variables[at : at + 4]}) for at in range(0, len(variables), 4)]
    body = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": items}
    return sheet.finish(name, "api/v1/namespaces/shop/pods", body)


def _refused(name: str) -> Document:
    """Errors of the API server that print what they refuse."""
    sheet = Sheet(Chance(name))
    c = sheet.chance
    first = sheet.secret("Go diff in an error", "Status message", c.dull())
    second = sheet.secret("Go diff in an error", "Status message", c.strong())
    third = sheet.secret("invalid value in an error", "Status message", c.strong())
    message = (
        f'Pod "web" is invalid: spec: Forbidden: pod updates may not change fields other than `image`:  core.PodSpec{{ Containers: []core.Container{{{{Name: "app", '
        f'Args: []string{{"--password={second}"}}, Env: []core.EnvVar{{{{Name: "DB_PASSWORD", Value: "{first}"}}}}}}}}}}; spec.auth.password: Invalid value: "{third}": must be shorter'
    )
    uid = sheet.keep("uid in a Status", c.uuid())
    body = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": "Invalid",
        "details": {"uid": uid},
        "code": 422,
    }
    return sheet.finish(name, "api/v1/namespaces/shop/pods/web", body)
