"""What the same grammars carry that is no secret."""

from __future__ import annotations

from typing import Final

__all__ = ["COMMANDS", "TEXTS"]

COMMANDS: Final[tuple[str, ...]] = (
    "mysql -h db -P 3306 -u root -p shop", "mysqldump --port 3306 -u backup", "docker run -p 8080:80 -u 1000:1000 shop/web",
    "docker run --user 1000:1000 -p 127.0.0.1:8080:80 nginx", "podman run -u node:node -a stdout x", "curl -u $USER:$PASS https://x.example.com", "curl -w %{http_code} -o /dev/null https://x",
    "psql -U postgres -p 5432 -d shop", "pg_isready -U postgres -h 127.0.0.1 -p 5432", "mongosh --port 27017 -u root -p", "redis-cli -p 6379 -h redis -a $REDIS_PASSWORD ping",
    "redis-server /etc/redis.conf --appendonly yes", "htpasswd -c /etc/htpasswd jane", "ldapsearch -x -W -D cn=admin -b dc=example", "openssl x509 -in c.pem -noout -text", "openssl rand -base64 32",
    "openssl enc -pass file:/run/secret -in a", "openssl rsa -passin env:PW -in k", "helm install web ./chart -n prod -f values-prod.yaml", "helm upgrade web ./c --set image.tag=v1.2.3,replicas=3",
    "kubectl create secret generic db --from-literal=user=$DB_USER", "kubectl get secret db-password -o yaml", "kubectl create secret tls web --cert=tls.crt --key=tls.key", "vault login -method=kubernetes role=shop", "vault kv get secret/shop/db",
    "vault token lookup", "vault operator unseal", "mc ls local/bucket", "mc alias list", "mc mb local/backups", "rabbitmqctl list_users", "rabbitmqctl set_permissions -p / app .* .* .*", "rabbitmqctl add_vhost shop", "aws configure set region eu-central-1",
    "aws s3 cp s3://bucket/key-2024 .", "aws ssm get-parameter --name /shop/db/password --with-decryption", "az acr login -n shop", "az login --identity -u shop-identity-1", "oc login https://api.example.com:6443", "oc project shop", "argocd app sync shop --prune",
    "argocd login argocd.example.com --sso", "etcdctl --user root get /registry", "etcdctl user list", "smbclient -L //nas -N", "sshpass -f /run/secret ssh root@h", "sshpass -e ssh root@h", "zip -r a.zip d", "7z x a.7z", "unzip -p a.zip f", "sqlcmd -S db -E -Q SELECT",
    "sqlplus / as sysdba", "cqlsh -u cassandra host 9042", "nats sub orders.> -s nats://nats:4222", "lftp -e ls ftp://h", "snmpwalk -v2c -c public host", "tar -cp -f a.tar d", "cp -p a b", "mkdir -p /data/app", "ssh -p 2222 root@h", "grep -w token f", "ps -u root -p 1",
    "netstat -a -p -u", "gpg --import key.asc", "ssh-keygen -t ed25519 -N  -f k", "useradd -m -u 1000 ops", "chown -R app:app /data", "rsync -a -p src dst", "nginx -p /etc/nginx -c nginx.conf", "python -u app.py -p 8080", "wget -q -P /tmp https://x", "java -jar app.jar -p 8080",
    "echo hello | base64 -d", "echo done | sudo tee /f", "echo $PW | passwd --stdin root", "ipmitool -I lanplus -H bmc -U admin -E power on", "mosquitto_pub -h m -p 1883 -t x -m y", "influx query -o shop from", "influx -port 8086 -execute SHOW", "mount -t nfs -o vers=4.1,proto=tcp nas:/a /b",
    "terraform apply -var region=eu -var-file=prod.tfvars", "git clone https://git.example.com/a/b.git", "git -c user.name=ci commit -m update", "skopeo copy docker://a docker://b", "crane digest a", "ansible-playbook -u ops -i hosts x.yml", "twine upload -r corp dist/x.whl", "cypher-shell -a bolt://neo4j:7687",
    "kcadm.sh get realms -r master", "wp core version", "drush cr", "k3s server --cluster-init", "npm config set registry https://npm.example.com", "keytool -list -keystore a.jks", "kinit -kt /etc/app.keytab app@EXAMPLE.COM", "gcloud auth login", "clickhouse-client --query SELECT",
)  # fmt: skip
TEXTS: Final[tuple[str, ...]] = (
    'password authentication failed for user "shop"', "Password changed for user jane", "no password supplied", "using password: YES", "Access denied for user 'root'@'10.0.0.1' (using password: NO)", "password = os.environ['DB_PASSWORD']",
    "const token = await getToken()", 'token := r.Header.Get("X-Token")', "self.password = password", "password: str = Field(min_length=8)", "def login(user: str, password: str) -> Token:", "return Token(value=value)", "if token != expected_token:",
    "secretName: web-tls", "secretKeyRef: {name: db, key: password}", "existingSecret: shop-db", "passwordSecretRef: {name: db, key: pw}", "key: app.kubernetes.io/name", "key: node-role.kubernetes.io/control-plane", "key: dedicated2024", "keys: [a, b, c]",
    "auth: none", "auth: oidc", "auth_mode = scram-sha-256", "auth_method = kubernetes", "salt: /srv/salt", "salt-minion 3006.4 started", "seed: 42", "seed_hosts: es-0,es-1,es-2", "session_id=<=uuid=>", "cookie: none", "set-cookie: lang=en; Path=/",
    "pepper-sauce-2 created", "AUTH mechanism PLAIN not supported", "AUTH failed for 10.0.0.1", '"AUTH" "***"', "PASS: TestLogin (0.02s)", "--- PASS: TestPasswordReset (0.00s)", "user=admin password=******", "password=<redacted> token=[FILTERED]", "Password: ", "Passwort: ********",
    "clave: valor", "clave primaria: pedido_id", "la clave no existe", "parola: il testo", "senha invalida", "mot de passe incorrect", "Le mot de passe est requis", "Das Passwort ist falsch", "contrase\u00f1a incorrecta", "\u5bc6\u7801\u9519\u8bef", "\u043f\u0430\u0440\u043e\u043b\u044c \u043d\u0435\u0432\u0435\u0440\u0435\u043d",
    "foreign key (order_id) references orders", "PRIMARY KEY (id), KEY idx_token (token)", "password_hash VARCHAR(255) NOT NULL", "password TEXT, token TEXT", "CREATE TABLE users (id int, password text)", "SELECT password FROM users WHERE id = $1", "UPDATE users SET password = $1 WHERE id = $2",
    "INSERT INTO users (name, password) VALUES ($1, $2)", "ALTER USER x PASSWORD EXPIRE", "ALTER ROLE shop PASSWORD NULL", "CREATE USER a IDENTIFIED WITH auth_socket", "IDENTIFIED EXTERNALLY AS 'cn=a'", "GRANT SELECT ON t TO a", "CREATE LOGIN [DOM\\user] FROM WINDOWS",
    "key=orders:2024-11-21:eu", 'key="default/web-7d9f8c6b5d"', "object key s3://b/backups/2024-11-21T03-00.sql.gz", "cache key product:12345:v2 expired", "lookup key shop.example.com", "rotating key 3 of 5", "key 0x<=hex 16=> not found", "host key SHA256:<=b62 43=>",
    "x-request-id: <=uuid=>", "traceparent: 00-<=hex 32=>-<=hex 16=>-01", 'etag: "<=hex 32=>"', "digest=sha256:<=hex 64=>", "commit <=hex 40=>", "image nginx@sha256:<=hex 64=>", "session <=uuid=> closed", "user agent curl/8.5.0", "authorization: RBAC", "authorization mode Node,RBAC",
    "token bucket refilled: 200", "tokens: 1523 prompt, 88 completion", "max_tokens=4096", "token_type=bearer expires_in=3600", "tokenizer loaded in 1.2s", "unexpected token '}' at line 3", "Unexpected token < in JSON", "next page token is empty", "continue token expired", "bootstrap token signer started",
    'secret "db" not found', "secrets is forbidden: User cannot list", 'MountVolume.SetUp failed for volume "db-password" : secret "db" not found', "Created secret shop/db-credentials", "secret/db-credentials created", "Secret shop/web-tls updated in 12ms", "credential helper osxkeychain", "credentials loaded from /etc/creds",
    "pin: false", "pin: 1.2.3", "PIN_VERSIONS=true", "pinned to v1.28.3", "community: false", "community.general 8.1.0", "snmp community public", "agent: node-1", 'agent = "enabled"', 'default = "fallback"', "master = pg-0", "PASSWORD ?= $(shell cat pw)", "DB_PASSWORD := ${PW}",
    'credential-reference store="cs" alias="db"', "<password></password>", '<property name="password">${db.password}</property>', '<user username="admin" password="${pw}"/>', "user default on nopass ~* +@all", 'requirepass ""', "rocommunity public", '<xs:element name="password" type="xs:string"/>',
    'send "yes\\r"', 'expect "password:"', "rootpw --lock", "rootpw --iscrypted $6$rounds=5000", "d-i passwd/user-fullname string Jane Doe", "headers: {Accept: application/json, Content-Type: text/plain}", 'header "Accept: text/html"', "header_up Host {upstream_hostport}", "header_up X-Forwarded-For {remote}",
    "connect('pg', 5432, 'shop')", "open('orders2024.csv', 'r')", "sign(payload, options)", "set(key, value)", "jwt.verify(token, publicKey)", "getConnection(url, props)", "basic_auth: true", "add_argument('--password', help='the password')", "Fernet(key)", "login(user, password)", "auth=(user, password)",
)  # fmt: skip
