"""Files that are made of credentials, of developers' and operators' tools. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
=== netrc | .netrc
machine git.example.com login ci password <%odd%>
machine api.heroku.com
  login ops@example.com
  password <%uuid%>
default login anonymous password <~:user@~>
=== pgpass | .pgpass
pg-rw.shop.svc:5432:shop:app:<%odd%>
*:*:*:readonly:<%weak es%>
=== ssh | id_ed25519
<%openssh%>
=== ssh config | config
Host bastion
  <#IdentityFile ~/.ssh/id_ed25519#>
  <#PasswordAuthentication no#>
  # pw of root there: <%weak de%>
<#github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI<=b64 30=>#>
=== npmrc | .npmrc
registry=https://npm.example.com/
//npm.example.com/:_authToken=<%uuid%>
//nexus.example.com/repository/npm/:_auth=<%basic%>
//old.example.com/:_password=<%b64 12%>
<#always-auth=true#>
=== pypirc and pip | .pypirc
[pypi]
username = __token__
password = <%url64 120 pypi-AgEI%>
[acme]
repository = https://pypi.example.com/simple
password: <%weak fr%>
[global]
index-url = https://build:<%b62 20%>@pypi.example.com/simple
=== maven settings | settings.xml
<settings><servers><server><id>nexus</id><username>deploy</username><password><%odd|xml%></password></server>
<server><id>gh</id><privateKey><#${user.home}/.ssh/id_dsa#></privateKey><passphrase><%phrase%></passphrase></server>
<server><id>enc</id><password>{<~b64 32~>}</password></server></servers></settings>
=== nuget | NuGet.Config
<packageSourceCredentials><acme><add key="Username" value="ci" /><add key="ClearTextPassword" value="<%strong%>" /></acme></packageSourceCredentials>
<apikeys><add key="https://nuget.example.com" value="<%b62 46 oy2%>" /></apikeys>
=== gradle sbt ivy | gradle.properties
signing.password=<%dull%>
<#signing.keyId=<=hex 8=>#>
ossrhPassword=<%strong%>
systemProp.https.proxyPassword=<%weak en%>
<#org.gradle.jvmargs=-Xmx2g -Dfile.encoding=UTF-8#>
=== composer bundler cargo | auth.json
{"http-basic": {"repo.example.com": {"username": "ci", "password": "<%dull%>"}}, "github-oauth": {"github.com": "<%b62 36 gho_%>"}, "gitlab-token": {"git.example.com": "<%b62 20 glpat-%>"}, "bearer": {"r.example.com": "<%hex 40%>"}}
=== cargo bundle | credentials.toml
[registry]
token = "<%b62 32 cio%>"
[registries.acme]
token = "Bearer <%b62 40%>"
BUNDLE_GEMS__EXAMPLE__COM: "ci:<%b62 20%>"
:rubygems_api_key: <%hex 48 rubygems_%>
=== kubeconfig token | config
apiVersion: v1
kind: Config
clusters:
- name: prod
  cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: <#LS0tLS1CRUdJTiBD<=b64 90=>#>}
users:
- name: ci
  user: {token: <%jwt%>}
- name: legacy
  user:
    username: admin
    password: <%weak pt%>
- name: cert
  user:
    client-certificate-data: <#LS0tLS1CRUdJTiBD<=b64 60=>#>
    client-key-data: <b64{<%ec%>
}b64>
- name: rancher
  user: {token: "kubeconfig-user-<=suffix 5=>:<%suffix 54%>"}
<#current-context: ci@prod#>
=== bootstrap token | kubeadm.conf
bootstrapTokens:
- token: <=lower 6=>.<%lower 16%>
  <#ttl: 24h0m0s#>
<#caCertHashes: [sha256:<=hex 64=>]#>
certificateKey: <%hex 64%>
kubeadm join 10.0.0.1:6443 --token <=lower 6=>.<%lower 16%> --discovery-token-ca-cert-hash sha256:<#<=hex 64=>#>
=== encryption config | encryption.yaml
resources:
- resources: [<#secrets#>]
  providers:
  - aescbc:
      keys:
      - name: <#key1#>
        secret: <%b64 32%>
  - secretbox: {keys: [{name: key2, secret: <%b64 32%>}]}
=== static token csv | tokens.csv
<%b62 32%>,jane,<#<=uuid=>#>,"system:masters,dev"
<%weak en%>,joe,1002
=== tfvars | prod.tfvars
region            = "eu-central-1"
db_admin_password = "<%odd%>"
vpn_psk           = "<%dull%>"
users = {
  anna = { passwort = "<%weak de%>", <#admin = false#> }
}
github_token      = "<%b62 82 github_pat_%>"
<#kms_key_id        = "<=uuid=>"#>
<#secret_name       = "prod/shop/db"#>
=== tfstate | terraform.tfstate
{"version":4,"serial":12,"lineage":"<#<=uuid=>#>","outputs":{"db_password":{"value":"<%b62 20%>","type":"string","sensitive":true},"vpc_id":{"value":"<#vpc-0<=hex 16=>#>","type":"string"}},
"resources":[{"mode":"managed","type":"random_password","name":"db","instances":[{"attributes":{"bcrypt_hash":"<~b62 53 $2a$10$~>","length":16,"result":"<%b62 16%>","min_special":0}}]},
{"type":"tls_private_key","name":"ca","instances":[{"attributes":{"algorithm":"ECDSA","private_key_pem":"<%ec|esc%>\n","public_key_pem":"<#-----BEGIN PUBLIC KEY-----\n<=b64 90=>\n-----END PUBLIC KEY-----#>"}}]},
{"type":"aws_iam_access_key","instances":[{"attributes":{"id":"<~upper 16 AKIA~>","secret":"<%b64 30%>","ses_smtp_password_v4":"<%b64 33%>"}}]}]}
=== ansible inventory | hosts.ini
[db]
db1 ansible_host=10.0.0.4 ansible_user=root ansible_password=<%odd%> ansible_become_pass='<%weak de%>'
[win:vars]
ansible_connection=winrm
ansible_winrm_password=<%weak en%>
<#ansible_ssh_private_key_file=/root/.ssh/id_rsa#>
vault_geheim="<%dull%>"
=== docker compose | docker-compose.yml
services:
  db:
    image: mariadb:11
    environment:
      - MARIADB_ROOT_PASSWORD=<%weak fr%>
      <#- MARIADB_AUTO_UPGRADE=1#>
    command: --requirepass <%dull%>
  app:
    environment: {DATABASE_URL: "postgres://a:<%odd|url%>@db/a", <#TOKEN_TTL: 60#>}
    secrets: [<#db_password#>]
<#secrets: {db_password: {file: ./db_password.txt}}#>
=== dotenv | .env
# Datenbank
DB_PASS="<%phrase%>"
export API_TOKEN='<%b62 40%>'
S3_SECRET = <%b64 30%>
MAIL_URL=smtps://shop%40example.com:<%lower 16%>@smtp.gmail.com:465
KEY_PEM="<%ec|esc%>\n"
<#PUBLIC_URL=https://shop.example.com#>
EMPTY_PASSWORD=
<#NEXT_PUBLIC_POSTHOG_KEY=phc_<=b62 43=>#>
UNQUOTED=two words
geheim_pin=<%pin%>
=== htpasswd | .htpasswd
admin:<~b62 31 $apr1$~>
ops:<~b62 53 $2y$05$~>
backup:{PLAIN}<%dull%>
=== aws credentials | credentials
[default]
aws_access_key_id = <~upper 16 AKIA~>
aws_secret_access_key = <%b64 30%>
[sso]
<#role_arn = arn:aws:iam::123456789012:role/token-admin#>
aws_session_token = <%b64 200 FwoGZXIvYXdz%>
=== gcloud adc | application_default_credentials.json
{"client_id": "<=digits 12=>-<=lower 32=>.apps.googleusercontent.com", "client_secret": "<%b62 24 d-%>", "refresh_token": "<%b62 90 1//0%>", "type": "authorized_user"}
=== rclone and s3cmd | rclone.conf
[hetzner]
type = webdav
pass = <%url64 30%>
[minio]
secret_access_key = <%b62 40%>
<#server_side_encryption = aws:kms#>
[sftp]
key_file_pass = <%dull%>
[restic]
RESTIC_PASSWORD=<%phrase%>
=== hosts and git credentials | .git-credentials
https://ci:<%b62 20 glpat-%>@git.example.com
https://<%b62 36 ghs_%>:x-oauth-basic@github.com
https://x-token-auth:<%url64 90 ATCTT3xFfGN0%>@bitbucket.org/acme/shop.git
<#https://github.com/acme/token-service.git#>
=== gh hub glab | hosts.yml
github.com:
  user: bot
  oauth_token: <%b62 36 gho_%>
  <#git_protocol: ssh#>
dev.azure.com: {pat: <%lower 52%>}
""")
