"""ConfigMaps of CI, proxies, mail, networks and backups."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
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
"""
