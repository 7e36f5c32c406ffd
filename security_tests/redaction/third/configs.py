"""Configuration of servers, as ConfigMaps hold it. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
=== spring application.yml | application.yml
spring:
  datasource:
    url: jdbc:oracle:thin:shop/<%strong%>@//ora:1521/SHOP
    hikari: {maximum-pool-size: 20, password: "<%odd%>"}
  data.redis.password: <%weak de%>
  mail:
    password: '<%odd%>'
  security.oauth2.client.registration.azure:
    client-id: <#<=uuid=>#>
    client-secret: <%b62 34%>
    <#authorization-grant-type: authorization_code#>
  cloud.config.password: <#${CONFIG_PASSWORD}#>
jwt:
  signing:
    key: <%b64 48%>
  <#token-validity-in-seconds: 86400#>
management.endpoint.env.show-values: never
=== quarkus properties | application.properties
quarkus.datasource.username=shop
quarkus.datasource.password=<%weak fr%>
quarkus.oidc.credentials.secret=<%b62 32%>
quarkus.http.ssl.certificate.key-store-password=<%dull%>
kafka.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"u\" password=\"<%b62 18%>\";
<#quarkus.http.auth.form.cookie-name=quarkus-credential#>
<#quarkus.oidc.token.issuer=any#>
mp.jwt.verify.publickey=<#<=b64 60=>#>
db.passwort : <%weak de%>
rabbit.uri = amqps://svc:<%odd|url%>@mq.example.com:5671/%2Fshop
=== my.cnf | my.cnf
[client]
user=backup
password="<%odd%>"
[mysqldump]
password = <%quote|sq%>
[mysqld]
<#default_authentication_plugin=mysql_native_password#>
<#validate_password.policy=MEDIUM#>
master-password=<%dull%>
=== mysql replication | replication.sql
CHANGE MASTER TO MASTER_HOST='db-0', MASTER_USER='repl', MASTER_PASSWORD='<%strong%>', MASTER_AUTO_POSITION=1;
CREATE USER IF NOT EXISTS 'shop'@'%' IDENTIFIED WITH mysql_native_password BY '<%weak es%>';
SET PASSWORD FOR 'root'@'localhost' = PASSWORD('<%dull%>');
INSERT INTO settings (k, v) VALUES ('smtp_password', '<%strong%>');
<#-- the password of app comes from Vault, see runbook 12#>
=== postgres init | init.sql
CREATE ROLE grafana LOGIN PASSWORD '<%weak en%>' VALID UNTIL 'infinity';
ALTER USER metabase WITH ENCRYPTED PASSWORD $$<%odd%>$$;
CREATE USER MAPPING FOR app SERVER dwh OPTIONS (user 'fdw', password '<%dull%>');
CREATE SUBSCRIPTION s CONNECTION 'host=old dbname=shop user=rep password=<%dull%>' PUBLICATION p;
<#SELECT pg_catalog.set_config('password_encryption', 'scram-sha-256', false);#>
SELECT dblink_connect('c', 'postgresql://x:<%strong%>@pg2/shop');
=== clickhouse users.xml | users.xml
<clickhouse><users><default><password><%weak pt%></password><networks><ip>::/0</ip></networks></default>
<etl><password_sha256_hex><~hex 64~></password_sha256_hex></etl></users>
<ldap_servers><corp><host>ldap</host><bind_dn>uid={user_name}</bind_dn><bind_password><%odd|xml%></bind_password></corp></ldap_servers></clickhouse>
=== php ini and wp | php.ini
[mail function]
sendmail_path = /usr/sbin/sendmail -t -i
[mysqli]
mysqli.default_pw = <%dull%>
[Session]
session.save_handler = redis
session.save_path = "tcp://redis:6379?auth=<%b62 20%>"
<#session.use_strict_mode = 1#>
<#session.sid_length = 48#>
=== wp-config | wp-config.php
<?php
define( 'DB_NAME', 'wp' );
define( 'DB_PASSWORD', '<%odd%>' );
define('AUTH_KEY',         '<%b62 64%>');
define('NONCE_SALT',       '<%b62 64%>');
<#define( 'DISALLOW_FILE_EDIT', true );#>
$cfg['Servers'][$i]['controlpass'] = '<%dull%>';
$CONFIG = array ('dbpassword' => '<%strong%>', 'passwordsalt' => '<%b64 22%>', 'secret' => '<%b64 36%>');
=== odbc.ini | odbc.ini
[dwh]
Driver = /opt/microsoft/msodbcsql18/lib64/libmsodbcsql.so
Server = tcp:sql.example.com,1433
UID = etl
PWD = <%strong%>
<#KeytabFile = /etc/krb5.keytab#>
=== nginx | default.conf
location /api/ {
  proxy_set_header Authorization "Basic <%basic%>";
  proxy_set_header X-Api-Key <%b62 32%>;
  proxy_pass http://user:<%dull%>@legacy:8080/;
  <#auth_basic_user_file /etc/nginx/.htpasswd;#>
  <#ssl_certificate_key /etc/nginx/tls/tls.key;#>
  if ($http_x_token != "<%b62 24%>") { return 403; }
  <#secure_link_md5 "$secure_link_expires$uri$secret";#>
}
=== haproxy | haproxy.cfg
userlist ops
  user admin insecure-password <%weak de%>
  user ro password <~b62 60 $6$~>
listen stats
  stats auth ops:<%weak en%>
  <#bind :443 ssl crt /etc/haproxy/certs/key.pem#>
=== rabbitmq.conf | rabbitmq.conf
default_user = shop
default_pass = <%strong%>
management.load_definitions = /etc/rabbitmq/definitions.json
cluster_formation.k8s.service_name = rabbit-headless
<#auth_backends.1 = rabbit_auth_backend_ldap#>
auth_ldap.dn_lookup_bind.password = <%dull%>
=== redis sentinel | redis.conf
requirepass <%b62 14%>
masterauth <%dull%>
user cache on ><%dull%> ~* +@all
sentinel auth-pass mymaster <%dull%>
<#aclfile /data/users.acl#>
<#appendfilename "appendonly.aof"#>
=== kafka server.properties | server.properties
ssl.keystore.password=<%dull%>
ssl.key.password=<%dull%>
ssl.keystore.type=PKCS12
<#ssl.truststore.location=/etc/kafka/secrets/truststore.p12#>
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=o.a.k.ScramLoginModule required username="admin" password="<%pw%>" user_shop="<%dull%>";
=== grafana datasources | datasources.yaml
datasources:
- name: influx
  type: influxdb
  secureJsonData: {token: "<%b64 64%>"}
  jsonData: {version: Flux, organization: ops, <#defaultBucket: tokens#>}
- name: mssql
  type: mssql
  user: ro
  secureJsonData:
    password: <%quote|json%>
- name: loki
  basicAuthPassword: <%dull%>
  <#basicAuthUser: loki-reader#>
  editable: false
=== alertmanager | alertmanager.yaml
receivers:
- name: telegram
  telegram_configs:
  - bot_token: <=digits 9=>:<%url64 26%>
    <#chat_id: -1001234567890#>
- name: ops
  opsgenie_configs: [{api_key: <%uuid%>, responders: [{name: ops, type: team}]}]
  webhook_configs:
  - url: https://chat.example.com/hooks/<%lower 26%>
  - url: https://outlook.office.com/webhook/<=uuid=>/IncomingWebhook/<%hex 32%>/<=uuid=>
  victorops_configs: [{api_key: <%uuid%>, routing_key: <#team-shop#>}]
  pushover_configs: [{user_key: <%lower 30%>, token: <%lower 30%>}]
=== prometheus remote write | prometheus.yml
remote_write:
- url: https://prom.example.com/api/v1/push
  basic_auth: {username: "123456", password: <%b62 60 glc_%>}
- url: https://mimir/api/v1/push
  authorization: {type: Bearer, credentials: <%b62 44%>}
  oauth2: {client_id: prom, client_secret: <%b62 32%>, <#token_url: "https://sso/token"#>}
scrape_configs:
- job_name: vault
  params: {token: [<%b62 24 hvs.%>]}
  <#bearer_token_file: /var/run/secrets/kubernetes.io/serviceaccount/token#>
=== vector and fluent | fluent.conf
<match **>
  @type elasticsearch
  host es
  user fluent
  password <%odd%>
  <#ssl_verify false#>
</match>
<source>
  @type forward
  <security>
    self_hostname fluent
    shared_key <%phrase%>
  </security>
</source>
[OUTPUT]
    Name   splunk
    Splunk_Token <%uuid%>
    HTTP_Passwd  <%dull%>
=== dex | config.yaml
staticClients:
- id: argo
  name: Argo
  secret: <%url64 24%>
  <#redirectURIs: ['https://argo.example.com/callback']#>
connectors:
- type: ldap
  config:
    bindDN: cn=dex,dc=acme
    bindPW: <%weak fr%>
    <#usernamePrompt: Kürzel und Passwort#>
staticPasswords:
- email: admin@example.com
  hash: "<~b62 53 $2a$10$~>"
  <#userID: "<=uuid=>"#>
=== loki thanos s3 | objstore.yml
type: S3
config:
  bucket: thanos
  access_key: <~upper 16 AKIA~>
  secret_key: <%b64 30%>
  <#sse_config: {type: SSE-KMS, kms_key_id: <=uuid=>}#>
  s3: s3://loki:<%b62 40|url%>@minio.svc:9000/loki
=== samba and vpn | smb.conf
[global]
<#passdb backend = tdbsam#>
<#unix password sync = yes#>
username=svc_share
password=<%weak de%>
domain=ACME
[wg]
PrivateKey = <%b64 32%>
PublicKey = <#<=b64 32=>#>
PresharedKey = <%b64 32%>
left: @vpn : PSK "<%phrase%>"
network={ ssid="lager" psk="<%sentence%>" <#key_mgmt=WPA-PSK#> }
pppd call dsl password <%digits 8%>
=== toml services | config.toml
[database]
dsn = "shop:<%strong%>@tcp(db:3306)/shop?parseTime=true"
[auth]
<#token_ttl = "15m"#>
jwt_secret = '''<%b64 32%>'''
hmac_keys = ["<%hex 32%>", "<%hex 32%>"]
[[upstreams]]
name = "crm"
api-key = "<%b62 32%>"
kennwort = "<%weak de%>"
[runners.cache.s3]
SecretKey = "<%b64 30%>"
token = "<%b62 20 glrt-%>"
=== postfix sasl | sasl_passwd
[smtp.example.com]:587 shop@example.com:<%strong%>
[mail.example.org]:465 noreply:<%weak pt%>
=== krb and ldap | sssd.conf
[domain/acme]
ldap_default_bind_dn = cn=sssd,dc=acme
<#ldap_default_authtok_type = password#>
ldap_default_authtok = <%weak en%>
<#ldap_user_authorized_service = authorizedService#>
=== unbound rndc | named.conf
key "rndc-key" { algorithm hmac-sha256; secret "<%b64 32%>"; };
<#include "/etc/bind/secret.key";#>
snmp: rocommunity <%dull%> 10.0.0.0/8
createUser monitor SHA "<%phrase%>" AES "<%sentence%>"
""")
