"""ConfigMaps of monitoring, databases and registries."""

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
'''
