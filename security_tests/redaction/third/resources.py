"""Specs of custom resources, written as YAML."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["SPECS"]

SPECS: Final = markup.sections(r"""
=== Argo CD cluster secret template
template: {data: {name: prod, config: '{"bearerToken":"<%jwt%>","tlsClientConfig":{"insecure":false,"caData":"<#LS0tLS1CRUdJTiBD<=b64 60=>#>"}}'}}
=== Argo CD repo creds
helm:
  valuesObject: {auth: {adminPassword: <%weak de%>, existingSecret: <#shop-auth#>}, smtp: {pass: "<%odd%>"}}
  parameters: [{name: global.token, value: <%b62 32%>}, {name: image.tag, value: <#<=hex 40=>#>}]
=== Flux HelmRelease
values:
  global: {postgresql: {auth: {password: <%strong%>, secretKeys: {userPasswordKey: <#password#>}}}}
  extraEnv: [{name: GEHEIMNIS, value: <%b62 20%>}]
  config: |
    [security]
    admin_password = <%weak fr%>
valuesFrom: [{kind: Secret, name: <#shop-values-secret#>, valuesKey: <#password.yaml#>}]
=== Flux receiver and notification
address: https://discord.com/api/webhooks/<=digits 18=>/<%url64 48%>
secretRef: {name: <#discord-webhook-token#>}
=== cert-manager
acme:
  email: ops@example.com
  privateKeySecretRef: {name: <#letsencrypt-account-key#>}
  solvers: [{dns01: {webhook: {config: {apiKey: <%b62 32%>, zone: example.com}}}}, {dns01: {route53: {accessKeyID: <~upper 16 AKIA~>, secretAccessKeySecretRef: {name: <#route53#>, key: <#secret-access-key#>}}}}]
=== external-secrets inline
provider:
  fake: {data: [{key: /shop/db, value: <%strong%>, version: v1}]}
  vault: {server: "https://vault:8200", path: <#secret#>, auth: {tokenSecretRef: {name: <#vault-token#>, key: <#token#>}}}
  webhook: {url: "https://sec.example.com/{{ .remoteRef.key }}", headers: {X-Auth-Token: <%hex 40%>}}
=== external-secrets refs
data: [{secretKey: <#db_password#>, remoteRef: {key: <#secret/data/shop/db#>, property: <#password#>}}]
target: {template: {data: {dsn: "<#postgres://app:{{ .password }}@db/shop#>", literal: "pw=<%dull%>"}}}
=== password generator
length: 42
digits: 5
symbolCharacters: <#-_$@#>
noUpper: false
=== Crossplane RDS
forProvider: {engine: mysql, masterUsername: admin, masterUserPassword: <%weak en%>, masterUserPasswordSecretRef: {name: <#rds#>, key: <#password#>}, dbSubnetGroupName: <#sg-<=hex 8=>#>}
writeConnectionSecretToRef: {name: <#shop-db-conn#>, namespace: shop}
=== Crossplane terraform workspace
forProvider: {vars: [{key: db_password, value: <%strong%>}, {key: region, value: <#eu-west-1#>}], module: "resource x y { password = \"<%dull%>\" }"}
=== Istio EnvoyFilter
configPatches: [{patch: {value: {typed_config: {request_headers_to_add: [{header: {key: x-partner-key, value: <%b62 40%>}}, {header: {key: x-request-id, value: <#%REQ(X-REQUEST-ID)%#>}}], token_secret: {name: token, generic_secret: {secret: {inline_string: <%b62 32%>}}}}}}}]
=== Istio RequestAuthentication
jwtRules: [{issuer: https://sso.example.com, jwksUri: <#https://sso.example.com/jwks.json#>, jwks: '<#{"keys":[{"kty":"RSA","kid":"<=hex 8=>","n":"<=url64 128=>","e":"AQAB"}]}#>', fromHeaders: [{name: <#x-jwt-token#>, prefix: <#"Bearer "#>}]}]
=== jwk private
jwks: '{"keys":[{"kty":"EC","crv":"P-256","x":"<#<=url64 32=>#>","y":"<#<=url64 32=>#>","d":"<%url64 32%>"},{"kty":"oct","k":"<%url64 32%>","alg":"HS256"}]}'
=== Strimzi KafkaUser
authentication: {type: scram-sha-512, password: {valueFrom: {secretKeyRef: {name: <#shop-kafka-user#>, key: <#password#>}}}}
template: {secret: {metadata: {annotations: {note: "initial pw <%dull%>"}}}}
=== Strimzi connector
class: io.confluent.connect.jdbc.JdbcSinkConnector
config: {connection.user: sink, connection.password: <%odd%>, snowflake.private.key: <%b64 200 MIIEvQIBADANBgkq%>, snowflake.private.key.passphrase: <%phrase%>, errors.deadletterqueue.topic.name: <#password-events#>, aws.secret.access.key: <%b64 30%>}
=== Prometheus remote write
remoteWrite: [{url: "https://prom.example.com/push?api_key=<%b62 32%>", headers: {X-Scope-OrgID: <#tenant-7#>, Authorization: "Basic <%basic%>"}, bearerToken: <%b62 40%>, bearerTokenFile: <#/etc/token#>}]
=== AlertmanagerConfig
receivers: [{name: ops, slackConfigs: [{apiURL: "https://hooks.slack.com/services/T<=upper 9=>/B<=upper 9=>/<%b62 24%>", channel: <#"#secrets"#>}], pagerdutyConfigs: [{routingKeySecret: {name: <#pd#>, key: <#routing-key#>}, serviceKey: <%hex 32%>}]}]
=== Grafana
config: {security: {admin_password: <%weak es%>, admin_user: root}, auth.generic_oauth: {client_secret: <%b62 40%>, token_url: <#https://sso.example.com/token#>}}
datasource: {type: elasticsearch, basicAuth: true, basicAuthUser: es, secureJsonData: {basicAuthPassword: <%dull%>, httpHeaderValue1: <%b62 40%>, sigV4SecretKey: <%b64 30%>}}
=== contact point
settings: '{"token":"xoxb-<=digits 11=>-<%b62 24%>","recipient":"<#C0<=upper 9=>#>","url":"https://hooks.example.com/t/<%b62 24%>"}'
=== KEDA
triggers:
- {type: postgresql, metadata: {connection: "host=pg user=k password=<%weak pt%> dbname=q", query: <#select count(*) from token_queue#>}}
- {type: azure-servicebus, metadata: {connection: "Endpoint=sb://x/;SharedAccessKeyName=k;SharedAccessKey=<%b64 32%>", queueName: <#password-mails#>}}
- {type: github-runner, metadata: {personalAccessToken: <%b62 36 ghp_%>, owner: acme}}
- {type: mysql, metadata: {passwordFromEnv: <#MYSQL_PASSWORD#>, targetQueryValue: "5"}}
=== Tekton
params: [{name: SONAR_LOGIN, value: <%hex 40%>}, {name: git-token-secret, value: <#git-credentials#>}, {name: SLACK_TOKEN, value: <%b62 50 xoxp-%>}]
taskSpec: {steps: [{script: "#!/bin/sh\nnpm config set //npm.example.com/:_authToken <%uuid%>\n<#npm publish --tag next#>\n", image: <#node@sha256:<=hex 64=>#>}]}
=== CloudNativePG
bootstrap: {initdb: {database: shop, owner: app, secret: {name: <#shop-app-secret#>}, postInitSQL: ["ALTER ROLE app PASSWORD '<%strong%>'", "<#CREATE EXTENSION pgcrypto#>"]}}
postgresql: {pg_hba: ["<#host all all 10.0.0.0/8 scram-sha-256#>"], parameters: {primary_conninfo: "host=pg user=rep password=<%dull%> sslmode=require", password_encryption: <#scram-sha-256#>}}
=== RabbitMQ user
import: {definitions: '{"users":[{"name":"shop","password":"<%dull%>","tags":""},{"name":"x","password_hash":"<~b64 36~>","hashing_algorithm":"<#rabbit_password_hashing_sha256#>"}]}'}
=== MySQL operator
user: {allowedHosts: ["%"], password: <%odd%>, resourceLimits: {MAX_USER_CONNECTIONS: "3"}}
secretName: <#mysql-root-pw#>
=== Velero restic
config: {repositoryPassword: <%phrase%>, bucket: <#velero-secrets-backup#>}
=== VM cloud init
volumes: [{cloudInitNoCloud: {userData: "#cloud-config\npassword: <%weak en%>\nchpasswd: {expire: False}\n<#ssh_pwauth: True#>\n"}}, {cloudInitConfigDrive: {userDataBase64: "<b64{#cloud-config
password: <%weak de%>
}b64>"}}]
=== Cluster API
files: [{path: /etc/kubernetes/azure.json, content: '{"aadClientSecret":"<%b62 37%>","subscriptionId":"<#<=uuid=>#>"}'}]
preKubeadmCommands: ["kubeadm join 10.0.0.1:6443 --token <=lower 6=>.<%lower 16%>", "<#mkdir -p /etc/pre#>"]
=== Traefik middleware
plugin: {apikey: {keys: ["<%b62 32%>", "<%b62 32%>"], headerName: <#X-API-KEY#>, removeHeadersOnSuccess: true}}
basicAuth: {secret: <#traefik-users#>}
=== Kong plugin
config: {client_secret: ["<%b62 32%>"], session_secret: <%b62 32%>, scopes: [openid, email], redis_password: <%dull%>}
=== Keycloak realm import
realm: {realm: shop, smtpServer: {host: mx, password: <%weak fr%>}, clients: [{clientId: web, secret: <%uuid%>, publicClient: false}], users: [{username: a, credentials: [{type: <#password#>, value: <%weak ja%>, temporary: true}]}], accessTokenLifespan: 300, passwordPolicy: <#length(8) and digits(1)#>}
=== LDAP group sync
ldap: {bindDN: cn=sync, bindPassword: <%odd%>, url: "ldap://ad"}
=== Spark
sparkConf: {spark.hadoop.fs.s3a.secret.key: <%b64 30%>, spark.hadoop.fs.s3a.access.key: <~upper 16 AKIA~>, spark.ssl.keyPassword: <%dull%>, spark.authenticate.secret: <%b62 24%>, spark.kubernetes.driver.secrets.gcs: <#/etc/secrets#>, spark.hadoop.fs.azure.account.key.x.dfs.core.windows.net: <%b64 64%>}
=== Backstage and app config
appConfig: "integrations:\n  github:\n  - host: github.com\n    token: <%b62 36 ghp_%>\n<#auth: {environment: production}#>\nbackend:\n  auth: {keys: [{secret: <%b64 24%>}]}\n"
""")
