"""Configuration of monitoring, logins, networks and directories, as ConfigMaps hold it. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
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
