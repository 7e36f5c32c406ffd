"""Files as ConfigMaps hold them, each under its usual name."""

from __future__ import annotations

from typing import Final

__all__ = ["FILES"]

FILES: Final[dict[str, tuple[str, str]]] = {
    "grafana.ini": ("grafana.ini", """[server]
root_url = https://grafana.example.com
[database]
type = postgres
host = pg:5432
user = grafana
password = \"\"\"<%rich%>\"\"\"
[security]
admin_user = admin
admin_password = <%pw%>
secret_key = <%b62 20%>
<#disable_brute_force_login_protection = false#>
[auth.generic_oauth]
enabled = true
client_id = grafana
client_secret = <%b62 32%>
<#token_url = https://sso.example.com/oauth/token#>
[smtp]
host = smtp.example.com:587
user = alerts
password = `<%strong%>`
[auth]
<#token_rotation_interval_minutes = 10#>
<#login_cookie_name = grafana_session#>
"""),
    "alertmanager.yml": ("alertmanager.yml", """global:
  resolve_timeout: 5m
  smtp_smarthost: smtp.example.com:587
  smtp_auth_username: alerts
  smtp_auth_password: <%strong%>
  <#smtp_require_tls: true#>
  slack_api_url: <%Slack webhook%>
  opsgenie_api_key: <%uuid%>
  victorops_api_key: <%uuid%>
route:
  <#group_by: ['alertname', 'secret', 'token_id']#>
  receiver: default
receivers:
- name: default
  pagerduty_configs:
  - routing_key: <%hex 32%>
    <#severity: '{{ .CommonLabels.severity }}'#>
- name: pd-v1
  pagerduty_configs: [{service_key: <%hex 32%>}]
- name: hook
  webhook_configs:
  - url: https://hooks.example.com/alert?apikey=<%b62 32%>
  - url: http://robot:<%pw%>@bot.example.com/hook
  telegram_configs:
  - bot_token: <%Telegram bot token%>
    chat_id: -100123
  pushover_configs:
  - user_key: <%lower 30%>
    token: <%lower 30%>
"""),
    "prometheus.yml": ("prometheus.yml", """global:
  <#scrape_interval: 30s#>
remote_write:
- url: https://prometheus-prod.example.net/api/prom/push
  basic_auth:
    username: 183921
    password: glc_<%b64 90%>
- url: https://mimir.example.com/api/v1/push
  authorization:
    type: Bearer
    credentials: <%JWT%>
- url: https://thanos.example.com
  <#bearer_token_file: /var/run/secrets/kubernetes.io/serviceaccount/token#>
scrape_configs:
- job_name: vm
  oauth2:
    client_id: prom
    client_secret: <%b62 40%>
    <#token_url: https://sso.example.com/token#>
- job_name: consul
  consul_sd_configs:
  - server: consul:8500
    token: <%uuid%>
  relabel_configs:
  - <#source_labels: [__meta_kubernetes_secret_token]#>
"""),
    "thanos objstore": ("objstore.yaml", """type: S3
config:
  bucket: thanos
  endpoint: s3.example.com
  access_key: <?upper 20?>
  secret_key: <%b64 30%>
  <#signature_version2: false#>
  sse_config:
    type: SSE-C
    <#encryption_key: /etc/thanos/sse.key#>
"""),
    "loki swift": ("loki.yaml", """storage_config:
  azure:
    account_name: shoplogs
    account_key: <%b64 64%>
  swift:
    username: loki
    user_domain_name: Default
    password: <%pw%>
auth_enabled: true
"""),
    "tempo s3": ("tempo.yaml", "storage:\n  trace:\n    backend: s3\n    s3: {bucket: tempo, endpoint: minio:9000, access_key: tempo, secret_key: <%dull%>, insecure: true}\n"),
    "velero cloud": ("cloud", "[default]\naws_access_key_id=AK\u0049A<?upper 16?>\naws_secret_access_key=<%b64 30%>\n[minio]\naws_access_key_id = minio\naws_secret_access_key = <%dull%>\n"),
    "velero azure": ("cloud", "AZURE_SUBSCRIPTION_ID=<#<=uuid=>#>\nAZURE_TENANT_ID=<#<=uuid=>#>\nAZURE_STORAGE_ACCOUNT_ACCESS_KEY=<%b64 64%>\nAZURE_CLOUD_NAME=AzurePublicCloud\n"),
    "rclone webdav": ("rclone.conf", '[nas]\ntype = webdav\nurl = https://nas.example.com/dav\nvendor = nextcloud\nuser = backup\npass = <%url64 30%>\n\n[gdrive]\ntype = drive\nscope = drive.readonly\ntoken = {"access_token":"ya29.<%b62 120%>","token_type":"Bearer","refresh_token":"1//0<%b62 60%>","expiry":"2026-03-04T05:06:07Z"}\n\n[crypt]\ntype = crypt\nremote = nas:enc\npassword = <%url64 24%>\npassword2 = <%url64 24%>\n'),
    "s3cfg": (".s3cfg", "[default]\naccess_key = <?upper 20?>\nsecret_key = <%b64 30%>\ngpg_passphrase = <%dashed%>\n<#gpg_encrypt = %(gpg_command)s -c --verbose --no-use-agent --batch --yes --passphrase-fd %(passphrase_fd)s -o %(output_file)s %(input_file)s#>\nhost_base = s3.example.com\nuse_https = True\n"),
    "airflow.cfg": ("airflow.cfg", "[core]\nexecutor = KubernetesExecutor\nfernet_key = <%fernet%>\n<#hide_sensitive_var_conn_fields = True#>\n<#sensitive_var_conn_names = password,secret,token#>\n[database]\nsql_alchemy_conn = postgresql+psycopg2://airflow:<%pw%>@pg/airflow\n[webserver]\nsecret_key = <%hex 32%>\n[celery]\nflower_basic_auth = admin:<%dull%>\nresult_backend = db+postgresql://airflow:<%strong%>@pg/airflow\n"),
    "superset_config.py": ("superset_config.py", "import os\n<#REDIS_HOST = os.getenv('REDIS_HOST')#>\nSECRET_KEY = '<%b64 42%>'\nSQLALCHEMY_DATABASE_URI = f\"postgresql+psycopg2://superset:<%pw%>@{DB_HOST}:5432/superset\"\nGUEST_TOKEN_JWT_SECRET = \"<%b62 40%>\"\n<#GUEST_TOKEN_HEADER_NAME = \"X-GuestToken\"#>\n<#GUEST_TOKEN_JWT_EXP_SECONDS = 300#>\nOAUTH_PROVIDERS = [{\"name\": \"sso\", \"token_key\": \"access_token\", \"remote_app\": {\"client_id\": \"superset\", \"client_secret\": \"<%b62 32%>\"}}]\n"),
    "jupyterhub_config.py": ("jupyterhub_config.py", "c = get_config()\nc.GenericOAuthenticator.client_secret = '<%b62 36%>'\nc.ConfigurableHTTPProxy.auth_token = '<%hex 64%>'\nc.JupyterHub.cookie_secret = bytes.fromhex('<%hex 64%>')\nc.JupyterHub.services = [{'name': 'cull', 'api_token': '<%hex 32%>'}]\n<#c.Authenticator.auth_refresh_age = 300#>\n"),
    "keycloak realm": ("realm.json", '{"realm":"shop","<#accessTokenLifespan#>":300,"passwordPolicy":"<#length(12) and upperCase(1) and passwordHistory(3)#>","clients":[{"clientId":"web","publicClient":false,"secret":"<%b62 32%>","redirectUris":["https://shop.example.com/*"]}],"users":[{"username":"admin","credentials":[{"type":"password","value":"<%dull%>","temporary":false}]}],"smtpServer":{"host":"smtp","user":"kc","password":"<%strong%>"},"identityProviders":[{"alias":"google","config":{"clientSecret":"<%Google OAuth client secret%>","<#tokenUrl#>":"https://oauth2.googleapis.com/token"}}],"components":{"org.keycloak.storage.UserStorageProvider":[{"config":{"bindDn":["cn=kc,dc=example"],"bindCredential":["<%pw%>"]}}],"org.keycloak.keys.KeyProvider":[{"providerId":"hmac-generated","config":{"kid":["<#<=uuid=>#>"],"secret":["<%url64 64%>"]}}]}}'),
    "gitlab.rb": ("gitlab.rb", "external_url 'https://gitlab.example.com'\ngitlab_rails['initial_root_password'] = '<%dull%>'\ngitlab_rails['db_password'] = \"<%pw%>\"\ngitlab_rails['smtp_password'] = \"<%strong%>\"\ngitlab_rails['gitlab_shell_ssh_port'] = 2222\ngitlab_rails['object_store']['connection'] = { 'provider' => 'AWS', 'aws_access_key_id' => '<?upper 20?>', 'aws_secret_access_key' => '<%b64 30%>' }\ngitlab_rails['ldap_servers'] = YAML.load <<-'EOS'\n  main:\n    bind_dn: 'cn=git'\n    password: '<%pw%>'\nEOS\n<#gitlab_rails['initial_shared_runners_registration_token_expiry'] = 30#>\nredis['password'] = '<%dull%>'\n"),
    "vault.hcl": ("vault.hcl", 'ui = true\nstorage "postgresql" {\n  connection_url = "postgres://vault:<%pw%>@pg:5432/vault?sslmode=disable"\n}\nseal "azurekeyvault" {\n  tenant_id = "<#<=uuid=>#>"\n  client_secret = "<%Azure client secret%>"\n  <#key_name = "vault-unseal"#>\n}\nseal "transit" {\n  address = "https://vault:8200"\n  token = "s.<%b62 24%>"\n  <#disable_renewal = "false"#>\n}\nlistener "tcp" {\n  <#tls_key_file = "/vault/userconfig/tls/tls.key"#>\n}\n'),
    "consul server.json": ("server.json", '{"datacenter":"dc1","encrypt":"<%b64 32%>","acl":{"enabled":true,"<#enable_token_persistence#>":true,"tokens":{"initial_management":"<%uuid%>","agent":"<%uuid%>"}},"node_id":"<#<=uuid=>#>"}'),
    "nomad.hcl": ("nomad.hcl", 'server {\n  enabled = true\n  encrypt = "<%b64 32%>"\n}\nvault {\n  enabled = true\n  token = "<%Vault token%>"\n  <#create_from_role = "nomad-cluster"#>\n}\n'),
    "rabbitmq definitions": ("definitions.json", '{"rabbit_version":"3.13.1","users":[{"name":"app","password":"<%pw%>","tags":"administrator"}],"parameters":[{"component":"federation-upstream","name":"dc2","value":{"uri":"amqps://fed:<%strong%>@rabbit.dc2:5671"}}],"bindings":[{"routing_key":"<#orders.password.reset#>"}]}'),
    "mongo keyfile": ("keyfile.env", "MONGODB_KEYFILE_CONTENTS=<%b64 756%>\n"),
    "mongod.conf": ("mongod.conf", "security:\n  authorization: enabled\n  <#keyFile: /etc/mongo/keyfile#>\n  ldap:\n    bind:\n      queryUser: cn=mongo\n      queryPassword: <%pw%>\nnet:\n  tls:\n    <#certificateKeyFile: /certs/mongo.pem#>\n    certificateKeyFilePassword: <%dull%>\n"),
    "redis ACL": ("users.acl", "user default off\nuser app on ><%b62 20%> ~app:* +@all -@dangerous\nuser ro on ><%dull%> ~* +@read\n"),
    "redis.conf": ("redis.conf", 'port 6379\nrequirepass <%dull%>\nmasterauth <%b62 10%>\n<#masteruser replica#>\n<#rename-command FLUSHALL ""#>\nsave 900 1\n'),
    "sentinel.conf": ("sentinel.conf", "sentinel monitor mymaster redis-0.redis 6379 2\nsentinel auth-pass mymaster <%dull%>\nsentinel myid <#<=hex 40=>#>\n"),
    "elasticsearch.yml": ("kibana.yml", 'server.name: kibana\nelasticsearch.username: "kibana_system"\nelasticsearch.password: "<%b62 20%>"\nxpack.security.encryptionKey: "<%b62 32%>"\nxpack.encryptedSavedObjects.encryptionKey: <%hex 32%>\nxpack.reporting.encryptionKey: <%hex 32%>\n<#elasticsearch.ssl.certificateAuthorities: [ "/usr/share/kibana/config/certs/ca.crt" ]#>\n'),
    "opensearch user": ("internal_dashboards.yml", 'opensearch.username: dash\nopensearch.password: <%pw%>\nopensearch_security.cookie.password: "<%b62 32%>"\nopensearch_security.openid.client_secret: <%b62 32%>\n'),
    "kafka client.properties": ("client.properties", 'security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n  username="app" \\\n  password="<%pw%>";\nssl.truststore.location=/certs/t.p12\nssl.truststore.password=<%dull%>\nssl.key.password=<%dull%>\n<#key.serializer=org.apache.kafka.common.serialization.StringSerializer#>\n'),
    "kafka server jaas": ("kafka_server_jaas.conf", 'KafkaServer {\n  org.apache.kafka.common.security.plain.PlainLoginModule required\n  username="admin"\n  password="<%dull%>"\n  user_admin="<%dull%>"\n  user_app="<%b62 20%>";\n};\nClient {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n  username="zk"\n  password="<%dull%>";\n};\n'),
    "zookeeper jaas": ("zk_jaas.conf", 'Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n  user_super="<%dull%>"\n  user_bob="<%strong%>";\n};\n'),
    "wireguard": ("wg0.conf", "[Interface]\nAddress = 10.8.0.2/24\nPrivateKey = <%b64 32%>\nDNS = 10.96.0.10\n[Peer]\n<#PublicKey = <=b64 32=>#>\nPresharedKey = <%b64 32%>\nEndpoint = vpn.example.com:51820\n<#AllowedIPs = 10.0.0.0/8#>\n"),
    "openvpn inline": ("client.ovpn", "client\nremote vpn.example.com 1194\n<#auth-user-pass /etc/openvpn/login#>\n<key>\n<%PEM RSA key%>\n</key>\n<cert>\n<#<=pub=>#>\n</cert>\n"),
    "openvpn login": ("login.conf", "username=svc-vpn\npassword=<%dull%>\n"),
    "ipsec.secrets": ("ipsec.secrets", '# ipsec\nvpn.example.com %any : PSK "<%strong%>"\n<#: RSA server-key.pem#>\njane : EAP "<%dull%>"\n'),
    "wpa psk": ("wpa_supplicant.conf", 'network={\n  ssid="warehouse"\n  psk="<%dull%>"\n  <#key_mgmt=WPA-PSK#>\n}\n'),
    "ssl bundle": ("haproxy.pem", "<#<=pub=>#>\n<%PEM PKCS8 key%>\n"),
    "ssh key in yaml": ("known.yaml", "git:\n  user: git\n  sshKey: |\n<%PEM OpenSSH key%>\n"),
    "haproxy": ("haproxy.cfg", 'global\n  stats socket /run/h.sock\ndefaults\n  mode http\nlisten stats\n  bind :9000\n  stats enable\n  stats auth admin:<%dull%>\n<#  stats hide-version#>\nbackend up\n  http-request set-header Authorization "Basic <%basic%>"\n<#  server s1 10.0.0.1:443 ssl verify required ca-file /etc/ca.pem#>\n'),
    "nginx conf": ("default.conf", 'server {\n  listen 80;\n  <#auth_basic "Restricted";#>\n  <#auth_basic_user_file /etc/nginx/.htpasswd;#>\n  <#ssl_certificate_key /etc/tls/tls.key;#>\n  <#ssl_session_tickets off;#>\n  location /api {\n    proxy_set_header Authorization "Bearer <%b62 40%>";\n    proxy_set_header X-Internal-Secret <%b62 24%>;\n    if ($http_x_api_key != "<%b62 32%>") { return 403; }\n    proxy_pass http://svc:<%dull%>@up.example.com;\n    <#proxy_cookie_path / "/; secure; HttpOnly";#>\n  }\n  secure_link_md5 "$secure_link_expires$uri <%dull%>";\n}\n'),
    "traefik dynamic": ("dynamic.toml", '[http.middlewares.h.headers.customRequestHeaders]\n  X-Auth-Token = "<%b62 32%>"\n[http.serversTransports.t]\n  <#serverName = "backend"#>\n[certificatesResolvers.le.acme]\n  email = "ops@example.com"\n  <#storage = "/acme.json"#>\n  [certificatesResolvers.le.acme.eab]\n    kid = "<#<=b62 20=>#>"\n    hmacEncoded = "<%url64 64%>"\n'),
    "envoy.yaml": ("envoy.yaml", "static_resources:\n  secrets:\n  - name: token\n    generic_secret:\n      secret:\n        inline_string: <%b62 32%>\n  - name: hmac\n    generic_secret:\n      secret:\n        inline_bytes: <%b64 32%>\n  clusters:\n  - <#name: outbound|443||sso.example.com#>\n"),
    "caddy": ("Caddyfile", "shop.example.com {\n  tls {\n    dns cloudflare <%b62 40%>\n  }\n  <#reverse_proxy web:8080#>\n}\n"),
    "logstash jdbc": ("pipeline.conf", 'input {\n  jdbc {\n    jdbc_connection_string => "jdbc:mysql://db:3306/shop"\n    jdbc_user => "etl"\n    jdbc_password => "<%pw%>"\n  }\n  http {\n    password => "${HTTP_PW}"\n    port => 8080\n  }\n}\nfilter {\n  <#mutate { remove_field => ["password", "token", "authorization"] }#>\n  <#grok { match => { "message" => "token=%{WORD:token_type}" } }#>\n}\noutput {\n  elasticsearch { hosts => ["https://es:9200"] api_key => "<=b62 20=>:<%b62 22%>" }\n}\n'),
    "fluent-bit": ("fluent-bit.conf", "[OUTPUT]\n    Name  es\n    Match kube.*\n    HTTP_User fluent\n    HTTP_Passwd <%pw%>\n    Logstash_Format On\n[OUTPUT]\n    Name splunk\n    Splunk_Token <%uuid%>\n[OUTPUT]\n    Name datadog\n    apikey <%hex 32%>\n    <#dd_service shop#>\n[FILTER]\n    <#Name modify#>\n    <#Remove_regex (?i)passw.*#>\n"),
    "fluentd shared_key": ("fluent.conf", "<source>\n  @type forward\n  <security>\n    <#self_hostname aggregator#>\n    shared_key <%dull%>\n  </security>\n</source>\n<match **>\n  @type s3\n  aws_key_id <?upper 20?>\n  aws_sec_key <%b64 30%>\n  <buffer tag,time>\n    <#timekey 3600#>\n    <#chunk_keys tag#>\n  </buffer>\n</match>\n"),
    "vector.yaml": ("vector.yaml", "sinks:\n  es:\n    type: elasticsearch\n    auth:\n      strategy: basic\n      user: vector\n      password: <%pw%>\n  hec:\n    type: splunk_hec_logs\n    default_token: <%uuid%>\n  nr:\n    type: new_relic\n    license_key: <%hex 36%>NRAL\n    <#account_id: \"<=digits 7=>\"#>\ntransforms:\n  redact:\n    <#source: '.message = replace(string!(.message), r''password=\\S+'', \"password=[x]\")'#>\n"),
    "otel collector": ("relay.yaml", 'exporters:\n  otlphttp:\n    endpoint: https://otlp.example.com\n    headers:\n      api-key: <%hex 36%>NRAL\n      <#x-scope-orgid: shop#>\n  otlp/honey:\n    headers: {"x-honeycomb-team": "<%b62 22%>"}\nextensions:\n  basicauth/c:\n    client_auth: {username: u, password: <%dull%>}\n  bearertokenauth:\n    token: <%b62 48%>\n  <#bearertokenauth/sa: {filename: /var/run/secrets/token}#>\n'),
    "telegraf": ("telegraf.conf", '[[outputs.influxdb_v2]]\n  urls = ["http://influx:8086"]\n  token = "<%url64 64%>"\n  organization = "ops"\n[[inputs.postgresql]]\n  address = "host=pg user=telegraf password=<%pw%> sslmode=disable"\n[[inputs.snmp]]\n  community = "<%dull%>"\n  sec_name = "ops"\n  auth_password = "<%dull%>"\n  priv_password = "<%dull%>"\n  <#auth_protocol = "SHA"#>\n'),
    "snmp.yml": ("snmp.yml", "auths:\n  v3:\n    username: mon\n    password: <%dull%>\n    priv_password: <%dull%>\n    <#auth_protocol: SHA#>\n    <#security_level: authPriv#>\n    version: 3\n"),
    "pgbouncer userlist": ("userlist.txt", '"app" "<%strong%>"\n"admin" "<%dull%>"\n'),
    "pgbouncer.ini": ("pgbouncer.ini", "[databases]\nshop = host=pg port=5432 dbname=shop user=shop password=<%pw%>\n* = host=pg\n[pgbouncer]\n<#auth_file = /etc/pgbouncer/userlist.txt#>\n<#auth_type = scram-sha-256#>\n"),
    "pgpool": ("pgpool.conf", "sr_check_user = 'repl'\nsr_check_password = '<%pw%>'\nhealth_check_password = '<%dull%>'\n<#enable_pool_hba = on#>\n"),
    "proxysql": ("proxysql.cnf", 'admin_variables=\n{\n  admin_credentials="admin:<%dull%>;cluster:<%dull%>"\n  mysql_ifaces="0.0.0.0:6032"\n}\nmysql_users =\n(\n  { username = "app" , password = "<%pw%>" , default_hostgroup = 0 }\n)\nmysql_variables=\n{\n  monitor_password="<%pw%>"\n}\n'),
    "clickhouse users.xml": ("users.xml", "<clickhouse><users><etl><password><%pw%></password><networks><ip>::/0</ip></networks><#<profile>default</profile>#></etl></users></clickhouse>\n"),
    "clickhouse s3": ("storage.xml", "<clickhouse>\n  <s3>\n    <access_key_id><?upper 20?></access_key_id>\n    <secret_access_key><%b64 30%></secret_access_key>\n    <#<server_side_encryption_kms_key_id><=uuid=></server_side_encryption_kms_key_id>#>\n  </s3>\n  <interserver_http_credentials>\n    <user>i</user>\n    <password><%dull%></password>\n  </interserver_http_credentials>\n</clickhouse>\n"),
    "hadoop core-site": ("core-site.xml", "<configuration>\n<property><name>fs.s3a.access.key</name><value><?upper 20?></value></property>\n<property><name>fs.s3a.secret.key</name><value><%b64 30%></value></property>\n<property>\n  <name>javax.jdo.option.ConnectionPassword</name>\n  <value><%pw%></value>\n</property>\n<#<property><name>hadoop.security.authentication</name><value>kerberos</value></property>#>\n<#<property><name>fs.s3a.aws.credentials.provider</name><value>org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider</value></property>#>\n</configuration>\n"),
    "tomcat context": ("context.xml", '<Context>\n  <Resource name="jdbc/shop" auth="Container" type="javax.sql.DataSource"\n    username="shop" password="<%pw%>"\n    <#driverClassName="org.postgresql.Driver"#> url="jdbc:postgresql://pg/shop"/>\n</Context>\n'),
    "wildfly standalone": ("standalone.xml", '<datasource jndi-name="java:/Shop"><connection-url>jdbc:oracle:thin:@db:1521/shop</connection-url><security user-name="shop" password="<%dull%>"/></datasource>\n<#<security-realm name="ApplicationRealm"/>#>\n'),
    "jenkins casc": ("casc.yaml", 'credentials:\n  system:\n    domainCredentials:\n    - credentials:\n      - usernamePassword:\n          scope: GLOBAL\n          id: nexus\n          username: ci\n          password: "<%pw%>"\n      - string:\n          id: sonar\n          secret: "<%hex 40%>"\n          <#description: "token for the sonar server"#>\n      - <#string: {id: slack, secret: "${SLACK_TOKEN}"}#>\njenkins:\n  securityRealm:\n    local:\n      users:\n      - {id: admin, password: "<%dull%>"}\n'),
    "terraform tfvars": ("prod.tfvars", 'region = "eu-central-1"\ndb_password = "<%pw%>"\ngithub_token = "<%GitHub classic token%>"\n<#db_password_length = 24#>\ndatadog = {\n  api_key = "<%hex 32%>"\n  site    = "datadoghq.eu"\n}\n<#secret_name = "shop-db"#>\n'),
    "terraform backend": ("backend.hcl", 'bucket     = "tfstate"\naccess_key = "<?upper 20?>"\nsecret_key = "<%b64 30%>"\nconn_str   = "postgres://tf:<%pw%>@pg/tf"\n<#dynamodb_table = "tf-locks"#>\n'),
    "ansible inventory": ("hosts.ini", "[db]\ndb1 ansible_host=10.0.0.5 ansible_user=root ansible_ssh_pass=<%dull%> ansible_become_pass='<%rich%>'\n[db:vars]\n<#ansible_ssh_private_key_file=~/.ssh/id_rsa#>\npg_password=<%pw%>\n"),
    "laravel .env": (".env", "APP_NAME=Shop\nAPP_ENV=production\nAPP_KEY=base64:<%b64 32%>\nDB_CONNECTION=mysql\nDB_PASSWORD=\"<%rich%>\"\nREDIS_PASSWORD=null\nMAIL_MAILER=smtp\nMAIL_PASSWORD='<%strong%>'\nAWS_SECRET_ACCESS_KEY=<%b64 30%>\n<#SESSION_DRIVER=redis#>\nPUSHER_APP_SECRET=<%hex 20%>\n<#MIX_PUSHER_APP_KEY=\"${PUSHER_APP_KEY}\"#>\n"),
    "symfony parameters": ("parameters.yml", "parameters:\n    database_host: db\n    database_password: <%pw%>\n    mailer_password: '<%strong%>'\n    secret: <%hex 40%>\n    <#jwt_passphrase: '%env(JWT_PASSPHRASE)%'#>\n"),
    "rails database.yml": ("database.yml", "default: &default\n  adapter: postgresql\n  <#password: <%= ENV['DB_PASSWORD'] %>#>\nproduction:\n  <<: *default\n  username: shop\n  password: <%pw%>\n  url: postgres://shop:<%strong%>@pg/shop\n"),
    "django settings": ("local_settings.py", "DEBUG = False\nSECRET_KEY = 'django-insecure-<%b62 50%>'\nDATABASES = {\n    'default': {\n        'ENGINE': 'django.db.backends.postgresql',\n        'USER': 'shop',\n        'PASSWORD': '<%pw%>',\n        'HOST': 'pg',\n    }\n}\nEMAIL_HOST_PASSWORD = os.environ.get('EMAIL_PW', '<%dull%>')\n<#AUTH_PASSWORD_VALIDATORS = [{'NAME': 'django.contrib.auth.password_validation.MinimumLengthValidator'}]#>\n<#CSRF_COOKIE_SECURE = True#>\n"),
    "wordpress salts": ("wp-salts.php", "<?php\ndefine('AUTH_KEY',         '<%b62 64%>');\ndefine('SECURE_AUTH_SALT', '<%b62 64%>');\ndefine('NONCE_KEY',        '<%b62 64%>');\n<#$table_prefix = 'wp_';#>\ndefine('DB_PASSWORD', getenv_docker('WORDPRESS_DB_PASSWORD', '<%dull%>') );\n"),
    "nextcloud config.php": ("config.php", "<?php\n$CONFIG = array (\n  'instanceid' => '<#oc<=lower 10=>#>',\n  'passwordsalt' => '<%b62 30%>',\n  'secret' => '<%b62 48%>',\n  'dbpassword' => '<%pw%>',\n  'mail_smtppassword' => '<%strong%>',\n  <#'lost_password_link' => 'disabled',#>\n  'redis' => array ( 'host' => 'redis', 'password' => '<%dull%>' ),\n);\n"),
    "spring application.yml": ("application.yml", "spring:\n  datasource:\n    url: jdbc:postgresql://pg/shop\n    username: shop\n    password: <%pw%>\n    <#hikari: {maximum-pool-size: 20}#>\n  mail:\n    password: ${MAIL_PASSWORD:<%dull%>}\n  kafka:\n    properties:\n      sasl.jaas.config: 'org.apache.kafka.common.security.plain.PlainLoginModule required username=\"a\" password=\"<%strong%>\";'\n  <#security.oauth2.resourceserver.jwt.issuer-uri: https://sso.example.com/realms/shop#>\njwt:\n  secret: <%b64 48%>\n  <#expiration: 86400#>\n"),
    "quarkus properties": ("application.properties", "quarkus.datasource.password=<%pw%>\nquarkus.oidc.credentials.secret=<%b62 32%>\nquarkus.oidc.client-id=shop\n%prod.quarkus.mailer.password=<%dull%>\nmp.jwt.verify.issuer=https://sso.example.com\n<#quarkus.http.auth.permission.authenticated.policy=authenticated#>\nsmallrye.jwt.sign.key=<%b62 43%>\n"),
    "appsettings.json": ("appsettings.Production.json", '{\n  "ConnectionStrings": {\n    "Default": "Server=sql;Database=Shop;User Id=sa;Password=<%rich%>;Encrypt=True",\n    "Redis": "redis:6379,password=<%b62 32%>,ssl=False,abortConnect=False"\n  },\n  "Jwt": {"Key": "<%b62 40%>", "Issuer": "https://shop.example.com", <#"ExpireMinutes": 60#>},\n  "AzureAd": {"TenantId": "<#<=uuid=>#>", "ClientId": "<#<=uuid=>#>", "ClientSecret": "<%Azure client secret%>"},\n  "Serilog": {"WriteTo": [{"Name": "Seq", "Args": {"apiKey": "<%b62 20%>"}}]}\n}\n'),
    "init.sh": ("init.sh", '#!/bin/bash\nset -euo pipefail\n<#: "${DB_PASSWORD:?must be set}"#>\nADMIN_PW="<%rich%>"\ncurl -fsS -u "admin:<%strong%>" -X PUT "http://localhost:5984/_users"\n<#TOKEN=$(curl -s -X POST "$URL/login" -d "$BODY" | jq -r .access_token)#>\necho "machine git.example.com login ci password <%strong%>" > ~/.netrc\nexport AWS_SECRET_ACCESS_KEY=<%b64 30%>\nmysql -u root -p"<%dull%>" -e "SELECT 1"\n<#if [ -z "$PASSWORD" ]; then echo "no password"; exit 1; fi#>\n'),
    "init.sql": ("01-users.sql", "<#CREATE DATABASE shop;#>\nCREATE USER shop WITH ENCRYPTED PASSWORD '<%pw%>';\nALTER USER postgres PASSWORD '<%strong%>';\nALTER ROLE ro WITH LOGIN PASSWORD '<%dull%>';\n<#GRANT SELECT ON password_resets TO ro;#>\nCREATE SERVER dw FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host 'dw');\nCREATE USER MAPPING FOR shop SERVER dw OPTIONS (user 'etl', password '<%pw%>');\nCREATE SUBSCRIPTION s CONNECTION 'host=pg user=repl password=<%pw%> dbname=shop' PUBLICATION p;\n<#ALTER TABLE users ADD COLUMN password_hash text NOT NULL, ADD COLUMN api_token_id uuid;#>\n"),
    "mysql init": ("init.sql", "ALTER USER 'root'@'localhost' IDENTIFIED WITH caching_sha2_password BY '<%dull%>';\nCHANGE REPLICATION SOURCE TO SOURCE_HOST='m', SOURCE_USER='repl', SOURCE_PASSWORD='<%pw%>';\nSET PASSWORD FOR 'app'@'%' = PASSWORD('<%dull%>');\nINSERT INTO settings (name, value) VALUES ('smtp_password', '<%strong%>');\n<#SELECT user, plugin, password_expired FROM mysql.user;#>\n"),
    "docker config": ("config.json", '{"auths":{"https://index.docker.io/v1/":{"username":"shop","password":"<%pw%>","auth":"<%basic%>"},"ghcr.io":{"auth":"<%basic%>"}},"<#credsStore#>":"ecr-login"}'),
    "netrc": ("netrc", "machine gitlab.example.com\nlogin ci\npassword <%strong%>\n"),
    "npmrc": (".npmrc", "registry=https://npm.example.com/\n//npm.example.com/:_authToken=<%b62 36%>\n//old.example.com/:_password=<%b64pw%>\n<#always-auth=true#>\n"),
    "maven settings": ("settings.xml", "<settings><servers><server><id>nexus</id><username>ci</username><password><%rich%></password></server><server><id>gh</id><privateKey>/root/.ssh/id</privateKey><passphrase><%dull%></passphrase></server></servers></settings>\n"),
    "gradle.properties": ("gradle.properties", "org.gradle.jvmargs=-Xmx2g\nnexusUser=ci\nnexusPassword=<%pw%>\nsigning.password=<%dull%>\n<#signing.keyId=<=hex 8=>#>\n<#signing.secretKeyRingFile=/root/.gnupg/secring.gpg#>\n"),
    "cargo credentials": ("credentials.toml", '[registries.internal]\ntoken = "Bearer <%b62 32%>"\n[registry]\ntoken = "cio<%b62 32%>"\n'),
    "kubeconfig": ("kubeconfig", "apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster:\n    <#certificate-authority-data: <=pub64=>#>\n    server: https://10.0.0.1:6443\nusers:\n- name: ci\n  user:\n    token: <%service account token%>\n- name: admin\n  user:\n    <#client-certificate-data: <=pub64=>#>\n    client-key-data: <%b64 900%>\n- name: basic\n  user: {username: admin, password: <%dull%>}\n"),
    "ssh config": ("config", "Host bastion\n  HostName 203.0.113.7\n  <#IdentityFile ~/.ssh/id_ed25519#>\n  <#PubkeyAuthentication yes#>\n  ProxyCommand sshpass -p <%dull%> ssh -W %h:%p jump\n"),
    "postfix sasl": ("sasl_passwd", "[smtp.example.com]:587 mailer:<%strong%>\n"),
    "msmtprc": ("msmtprc", "account default\nhost smtp.example.com\nuser mailer\npassword <%pw%>\n<#tls_trust_file /etc/ssl/certs/ca-certificates.crt#>\n<#auth on#>\n"),
    "sssd.conf": ("sssd.conf", "[domain/example]\nldap_default_bind_dn = cn=ro\nldap_default_authtok_type = password\nldap_default_authtok = <%pw%>\n<#cache_credentials = True#>\n"),
    "freeradius clients": ("clients.conf", "client wifi {\n  ipaddr = 10.0.0.0/8\n  secret = <%dull%>\n  <#require_message_authenticator = no#>\n}\n"),
    "bind tsig": ("named.conf", 'key "externaldns" {\n  <#algorithm hmac-sha256;#>\n  secret "<%b64 32%>";\n};\n'),
    "powerdns": ("pdns.conf", "api=yes\napi-key=<%b62 24%>\ngpgsql-password=<%pw%>\n<#default-soa-content=ns1.example.com hostmaster.@ 0 10800 3600 604800 3600#>\n"),
    "coturn": ("turnserver.conf", "realm=example.com\nstatic-auth-secret=<%b62 32%>\nuser=jane:<%dull%>\ncli-password=<%dull%>\n<#lt-cred-mech#>\n"),
    "synapse": ("homeserver.yaml", 'server_name: "example.com"\nregistration_shared_secret: "<%b62 50%>"\nmacaroon_secret_key: "<%b62 50%>"\nform_secret: "<%b62 50%>"\ndatabase:\n  args:\n    user: synapse\n    password: <%pw%>\n<#signing_key_path: "/data/signing.key"#>\n<#trusted_key_servers: [{server_name: matrix.org}]#>\nturn_shared_secret: <%b62 32%>\n'),
    "argocd notifications": ("service.slack", "token: <%Slack bot token%>\n<#signingSecret: $slack-signing-secret#>\n"),
    "argocd dex": ("dex.config", "connectors:\n- type: github\n  id: github\n  config:\n    clientID: <=hex 20=>\n    clientSecret: <%hex 40%>\n- type: ldap\n  config:\n    bindDN: cn=argo\n    bindPW: <%pw%>\n    <#usernamePrompt: Email#>\n- type: oidc\n  <#config: {clientSecret: $dex.oidc.clientSecret}#>\n"),
    "fluxcd values": ("values.yaml", 'auth:\n  rootPassword: <%dull%>\n  replicationPassword: <%b62 10%>\n  <#existingSecretPasswordKey: mariadb-password#>\nglobal:\n  redis: {password: <%dull%>}\n  <#imagePullSecrets: [{name: regcred}]#>\ngrafana:\n  adminPassword: "<%rich%>"\noauthProxy:\n  cookieSecret: <%b64 24%>\n  clientSecret: <%b62 40%>\n'),
    "harbor.yml": ("harbor.yml", "hostname: harbor.example.com\nharbor_admin_password: <%dull%>\ndatabase:\n  password: <%dull%>\n  <#max_idle_conns: 100#>\nexternal_redis:\n  password: <%pw%>\nstorage_service:\n  s3:\n    accesskey: <?upper 20?>\n    secretkey: <%b64 30%>\n"),
    "registry config": ("config.yml", "version: 0.1\nhttp:\n  secret: <%b62 32%>\nstorage:\n  azure: {accountname: reg, accountkey: <%b64 64%>, container: r}\nproxy:\n  remoteurl: https://registry-1.docker.io\n  username: shop\n  password: dckr_pat_<%b62 27%>\nauth:\n  <#token: {realm: 'https://h.example.com/service/token', rootcertbundle: /etc/root.crt}#>\n"),
    "kong.yml": ("kong.yml", '_format_version: "3.0"\nconsumers:\n- username: mobile\n  keyauth_credentials:\n  - key: <%b62 32%>\n  basicauth_credentials:\n  - username: m\n    password: <%dull%>\n  jwt_secrets:\n  - key: <?b62 32?>\n    secret: <%b62 32%>\nplugins:\n- name: key-auth\n  <#config: {key_names: [apikey, x-api-key], hide_credentials: true}#>\n'),
    "encryption config": ("encryption.yaml", "kind: EncryptionConfiguration\nresources:\n- <#resources: [secrets]#>\n  providers:\n  - aescbc:\n      keys:\n      - name: key1\n        secret: <%b64 32%>\n  - identity: {}\n"),
    "cloud.conf openstack": ("cloud.conf", "[Global]\nauth-url=https://keystone.example.com/v3\nusername=k8s\npassword=<%rich%>\napplication-credential-secret=<%url64 64%>\n<#application-credential-id=<=hex 32=>#>\n<#tenant-id=<=hex 32=>#>\n"),
    "vsphere.conf": ("vsphere.conf", '[VirtualCenter "vc.example.com"]\nuser = "k8s@vsphere.local"\npassword = "<%rich%>"\n<#thumbprint = "<=hex 40=>"#>\n'),
    "azure.json": ("azure.json", '{"cloud":"AzurePublicCloud","tenantId":"<#<=uuid=>#>","aadClientId":"<#<=uuid=>#>","aadClientSecret":"<%Azure client secret%>","<#useManagedIdentityExtension#>":false}'),
    "cloud-init": ("user-data", "#cloud-config\nhostname: w1\nchpasswd:\n  expire: false\n  list: |\n    root:<%dull%>\n    ubuntu:<%dull%>\nssh_authorized_keys:\n- <#ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA<=b62 44=> ops#>\nruncmd:\n- kubeadm join 10.0.0.1:6443 --token <=lower 6=>.<%lower 16%> <#--discovery-token-ca-cert-hash sha256:<=hex 64=>#>\n"),
    "home assistant": ("secrets.yaml", "wifi_password: <%dull%>\nmqtt_password: <%dull%>\nlatitude: 52.5\n"),
    "mosquitto bridge": ("mosquitto.conf", "connection dc2\naddress mq.dc2:8883\nremote_username bridge\nremote_password <%dull%>\n<#allow_anonymous false#>\n<#password_file /mosquitto/passwd#>\n"),
    "nats.conf": ("nats.conf", 'authorization {\n  token: "<%b62 32%>"\n  users = [\n    {user: app, password: "<%pw%>", permissions: {publish: "orders.>"}}\n  ]\n}\ncluster { routes = [nats-route://r:<%strong%>@nats-1:6222] }\n'),
    "temporal": ("temporal.yaml", "persistence:\n  datastores:\n    default:\n      sql:\n        user: temporal\n        password: '<%rich%>'\n        connectAddr: pg:5432\nglobal:\n  <#authorization: {jwtKeyProvider: {keySourceURIs: []}, permissionsClaimName: permissions}#>\n"),
    "zabbix": ("zabbix_server.conf", "DBHost=pg\nDBName=zabbix\nDBUser=zabbix\nDBPassword=<%pw%>\n<#TLSPSKFile=/var/lib/zabbix/psk#>\n<#TLSPSKIdentity=PSK 001#>\n"),
    "mattermost": ("config.json", '{"SqlSettings":{"DriverName":"postgres","DataSource":"postgres://mm:<%strong%>@pg/mm?sslmode=disable","AtRestEncryptKey":"<%lower 32%>"},"EmailSettings":{"SMTPPassword":"<%pw%>","<#EnableSMTPAuth#>":true},"GitLabSettings":{"Secret":"<%hex 64%>","Id":"<=hex 64=>"},"FileSettings":{"PublicLinkSalt":"<%lower 32%>","AmazonS3SecretAccessKey":"<%b64 30%>"}}'),
}  # fmt: skip
