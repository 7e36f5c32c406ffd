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
""")
