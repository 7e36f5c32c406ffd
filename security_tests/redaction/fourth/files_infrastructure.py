"""ConfigMaps of proxies, databases, mail, monitoring and CI."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r'''
=== alertmanager.yml
global:
  smtp_smarthost: smtp.nordlicht.example:587
  smtp_auth_username: alerts@nordlicht.example
  smtp_auth_password: <%human%>
  slack_api_url: https://hooks.slack.com/services/<%slack path%>
  resolve_timeout: 5m
receivers:
  - name: oncall
    pagerduty_configs:
      - routing_key: <%hex 32%>
        severity: critical
    opsgenie_configs:
      - api_key: <%uuid%>
  - name: telegram
    telegram_configs:
      - bot_token: <%telegram%>
        chat_id: -1001234567890
  - name: dev
    webhook_configs:
      - url: https://alerts:<%dull%>@hook.nordlicht.example/alertmanager
=== prometheus.yml
global:
  scrape_interval: 30s
scrape_configs:
  - job_name: blackbox
    metrics_path: /probe
    params: {module: [http_2xx]}
  - job_name: rabbit
    basic_auth:
      username: metrics
      password: <%dull%>
    static_configs:
      - targets: [rabbitmq.messaging.svc:15692]
  - job_name: vault
    metrics_path: /v1/sys/metrics
    authorization:
      credentials: <%vault%>
  - job_name: node
    bearer_token_file: /var/run/secrets/kubernetes.io/serviceaccount/token
remote_write:
  - url: https://prometheus-prod-01-eu-west-0.grafana.net/api/prom/push
    basic_auth:
      username: 471102
      password: glc_<%base64url 90%>
=== grafana.ini
[database]
type = mysql
url = mysql://grafana:<%dull%>@mysql-primary:3306/grafana
[security]
admin_user = admin
admin_password = """<%symbols%>"""
secret_key = <%base62 20%>
cookie_secure = true
[auth.ldap]
enabled = true
config_file = /etc/grafana/ldap.toml
=== ldap.toml
[[servers]]
host = "ldap.nordlicht.example"
bind_dn = "cn=grafana,ou=service,dc=nordlicht,dc=example"
bind_password = '<%human%>'
search_filter = "(sAMAccountName=%s)"
=== datasources.yaml
apiVersion: 1
datasources:
  - name: Orders
    type: postgres
    url: orders-db:5432
    user: grafana_ro
    secureJsonData:
      password: <%dull%>
  - name: Influx
    type: influxdb
    jsonData: {httpHeaderName1: Authorization}
    secureJsonData:
      httpHeaderValue1: Token <%base64 64%>
=== fluent-bit.conf
[INPUT]
    Name              tail
    Path              /var/log/containers/*.log
    Exclude_Path      *password-manager*
[OUTPUT]
    Name            es
    Host            elasticsearch-es-http.search
    HTTP_User       fluent
    HTTP_Passwd     <%strong%>
    tls.verify      Off
[OUTPUT]
    Name            splunk
    Splunk_Token    <%uuid%>
=== logstash.conf
input { beats { port => 5044 ssl_key_passphrase => "<%dull%>" } }
filter { mutate { remove_field => ["password", "token"] } }
output {
  elasticsearch {
    hosts => ["https://es:9200"]
    user => "logstash"
    password => "<%strong%>"
    ssl_certificate_verification => false
  }
}
=== redis.conf
port 6379
requirepass <%dull%>
masterauth <%dull%>
user metrics on ><%dull%> ~* +@read
maxmemory-policy allkeys-lru
aclfile /etc/redis/users.acl
=== haproxy.cfg
userlist stats
    user admin insecure-password <%dull%>
    user reader password <~bcrypt~>
frontend fe
    bind :8404
    stats auth ops:<%dull%>
backend be
    http-request set-header Authorization "Basic <%basic%>"
    server s1 10.0.0.12:8080 check
=== userlist.txt | unusual
"orders_app" "<%strong%>"
"pgbouncer" "SCRAM-SHA-256$4096:<~base64 16~>"
"reporting" "md5<~hex 32~>"
"stats" "<%dull%>"
=== pgbouncer.ini
[databases]
orders = host=orders-db port=5432 dbname=orders user=orders_app password=<%strong%>
* = host=orders-db
[pgbouncer]
auth_type = scram-sha-256
auth_file = /etc/pgbouncer/userlist.txt
admin_users = pgbouncer
=== .pgpass
orders-db:5432:orders:backup:<%strong%>
*:*:*:reporting:<%dull%>
=== .netrc
machine git.nordlicht.example login ci password <%gitlab%>
machine nexus.nordlicht.example login ci password <%dull%>
=== .npmrc
registry=https://npm.nordlicht.example/
//npm.nordlicht.example/:_authToken=<%npm%>
//nexus.nordlicht.example/repository/npm/:_auth=<%basic%>
always-auth=true
=== pip.conf
[global]
index-url = https://ci:<%dull%>@nexus.nordlicht.example/repository/pypi/simple
trusted-host = nexus.nordlicht.example
=== my.cnf
[client]
user = backup
password = "<%dull%>"
[mysqldump]
single-transaction
[mysqld]
master-info-repository = TABLE
default_password_lifetime = 0
=== init.sql
CREATE DATABASE IF NOT EXISTS tracking;
CREATE USER 'tracking'@'%' IDENTIFIED BY '<%dull%>';
ALTER USER postgres WITH PASSWORD '<%strong%>';
GRANT ALL ON tracking.* TO 'tracking'@'%';
CREATE TABLE users (id bigint primary key, email text, password_hash text not null, api_key_id uuid);
INSERT INTO settings (name, value) VALUES ('smtp_password', '<%human%>'), ('session_timeout', '3600');
=== users.xml
<clickhouse><users>
  <loader><password><%strong%></password><networks><ip>::/0</ip></networks><profile>default</profile></loader>
  <reader><password_sha256_hex><~sha256~></password_sha256_hex></reader>
</users></clickhouse>
=== definitions.json
{"users": [
  {"name": "shipping", "password": "<%dull%>", "tags": ""},
  {"name": "admin", "password_hash": "<~base64 36~>", "hashing_algorithm": "rabbit_password_hashing_sha256", "tags": "administrator"}],
 "parameters": [{"component": "shovel", "name": "old-site", "value": {"src-uri": "amqp://shovel:<%dull%>@mq.old.example/", "src-queue": "orders", "dest-uri": "amqp://"}}]}
=== gitlab runner config
file: config.toml
concurrent = 10
[[runners]]
  name = "k8s-large"
  url = "https://git.nordlicht.example/"
  id = 142
  token = "<%runner%>"
  executor = "kubernetes"
  [runners.cache.s3]
    AccessKey = "<~aws id~>"
    SecretKey = "<%aws secret%>"
    BucketName = "runner-cache"
  [runners.kubernetes]
    image_pull_secrets = ["gitlab-registry"]
=== jenkins casc
file: jenkins.yaml
jenkins:
  securityRealm:
    local:
      users:
        - id: admin
          password: <%dull%>
credentials:
  system:
    domainCredentials:
      - credentials:
          - usernamePassword: {id: nexus, username: ci, password: <%strong%>}
          - string: {id: sonar-token, secret: <%sonar%>}
          - basicSSHUserPrivateKey:
              id: git-deploy
              username: git
              privateKeySource:
                directEntry:
                  privateKey: |
                    <%ssh|indent20%>
unclassified:
  location: {url: "https://ci.nordlicht.example/"}
=== traefik dynamic
file: dynamic.yml
http:
  middlewares:
    upstream-auth:
      headers:
        customRequestHeaders:
          Authorization: Bearer <%jwt%>
          X-Forwarded-Proto: https
    admin:
      basicAuth:
        users:
          - admin:<~bcrypt~>
=== sssd.conf
[domain/nordlicht.example]
ldap_default_bind_dn = cn=sssd,ou=service,dc=nordlicht,dc=example
ldap_default_authtok_type = password
ldap_default_authtok = <%human%>
cache_credentials = true
=== clients.conf | unusual
client wlc-1 {
    ipaddr = 10.20.0.5
    secret = <%dull%>
    require_message_authenticator = yes
}
=== sip.conf | unusual
[lager-hamburg]
type=peer
username=4940471102
secret=<%dull%>
remotesecret=<%dull%>
context=from-trunk
=== wg0.conf | unusual
[Interface]
PrivateKey = <%base64 32%>
Address = 10.99.0.2/24
[Peer]
PublicKey = <=base64 32=>
PresharedKey = <%base64 32%>
Endpoint = vpn.nordlicht.example:51820
=== ipsec.secrets | unusual
vpn.nordlicht.example partner.example : PSK "<%strong%>"
jana : EAP "<%dull%>"
: RSA vpnHostKey.pem
=== sasl_passwd | unusual
[smtp.nordlicht.example]:587 relay@nordlicht.example:<%human%>
[mail.partner.example]:25 nordlicht:<%dull%>
=== rclone.conf
[backup]
type = s3
provider = Minio
access_key_id = <~base62 20~>
secret_access_key = <%base62 40%>
endpoint = https://minio.backup.example
[gdrive]
type = drive
token = {"access_token":"ya29.<%base64url 90%>","token_type":"Bearer","refresh_token":"1//<%base62 60%>","expiry":"2026-03-04T05:06:07Z"}
=== backup.sh
#!/bin/bash
set -euo pipefail
# password comes from the vault since 2024, see PLAT-311
export RESTIC_PASSWORD="<%phrase%>"
export AWS_SECRET_ACCESS_KEY=<%aws secret%>
DB_PASS=$(cat /run/secrets/db_password)
mysqldump -h "$DB_HOST" -u backup --password="$DB_PASS" --all-databases | gzip > /tmp/all.sql.gz
openssl enc -aes-256-cbc -pbkdf2 -k '<%dull%>' -in /tmp/all.sql.gz -out /tmp/all.enc
curl -T /tmp/all.enc -u "nordlicht:<%dull%>" https://dav.backup.example/daily/
curl -fsS https://hc-ping.example/<=uuid=> > /dev/null
=== snmpd.conf | unusual
rocommunity <%dull%> 10.0.0.0/8
createUser monitor SHA "<%dull%>" AES "<%dull%>"
syslocation Hamburg DC2
=== telegraf.conf
[[outputs.influxdb_v2]]
  urls = ["http://influx:8086"]
  token = "<%base64 64%>"
  organization = "nordlicht"
[[inputs.sqlserver]]
  servers = ["Server=sql-prod;Port=1433;User Id=telegraf;Password=<%strong%>;app name=telegraf;log=1;"]
[[inputs.mqtt_consumer]]
  username = "telegraf"
  password = "<%dull%>"
=== icinga api-users.conf | unusual
file: api-users.conf
object ApiUser "director" {
  password = "<%hex 16%>"
  permissions = [ "*" ]
}
=== mosquitto bridge
file: mosquitto.conf
listener 1883
password_file /mosquitto/passwd
connection hq
address mqtt.nordlicht.example:8883
remote_username bridge
remote_password <%dull%>
=== kong.yml
_format_version: "3.0"
consumers:
  - username: partner-dhl
    keyauth_credentials:
      - key: <%base62 32%>
    basicauth_credentials:
      - username: dhl
        password: <%dull%>
  - username: app
    jwt_secrets:
      - key: app-issuer
        algorithm: HS256
        secret: <%base62 32%>
plugins:
  - name: key-auth
    config: {key_names: [apikey], hide_credentials: true}
=== homer docker config
file: config.json
{"auths": {"registry.nordlicht.example": {"username": "robot$pull", "password": "<%base62 32%>", "auth": "<%basic%>"}}, "credHelpers": {"eu.gcr.example": "gcloud"}}
=== cloud.conf | unusual
[Global]
auth-url=https://keystone.cloud.example:5000/v3
username=k8s-prod
password=<%strong%>
tenant-name=nordlicht
domain-name=Default
[VirtualCenter "vcenter.nordlicht.example"]
user = "k8s@vsphere.local"
password = "<%human%>"
=== terraform.tfvars
region          = "eu-central-1"
db_password     = "<%strong%>"
vcenter_pass    = "<%human%>"
ssh_public_key  = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA<=base62 43=> ops@nordlicht"
cloudflare_api_token = "<%base62 40%>"
node_image_id   = "ami-<=hex 17=>"
'''
