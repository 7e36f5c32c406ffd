"""Lines of logs of many programs."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["LINES"]

LINES: Final = markup.sections(r"""
=== spring environment
2026-03-04T05:06:07.123Z  INFO 1 --- [main] c.a.Config : DataSourceProperties(url=jdbc:mysql://m/s, username=app, password=<%odd%>, <#maxPoolSize=10#>)
=== hikari url
com.zaxxer.hikari.HikariConfig - jdbcUrl.........................jdbc:postgresql://db/shop?user=app&password=<%strong%>
<#com.zaxxer.hikari.HikariConfig - password........................<masked>#>
=== java stack trace
org.postgresql.util.PSQLException: FATAL: cannot parse jdbc:postgresql://db/shop?user=app&password=<%dull%>&ssl=true
<#	at org.postgresql.core.v3.ConnectionFactoryImpl.doAuthentication(ConnectionFactoryImpl.java:693)#>
=== java map
Loaded settings {db.user=app, db.password=<%weak de%>, api.key=<%b62 32%>, <#retry.max=3#>}
=== java record
Credentials[username=svc, password=<%dull%>, <#expiresAt=2026-03-04T05:06:07Z#>]
=== kotlin data class
LoginRequest(email=anna@example.com, passwort=<%weak de%>, rememberMe=true)
=== go struct
connecting with &{Host:db Port:5432 User:app Password:<%odd%> SSLMode:disable}
=== go plus v nested
cfg={HTTP:{Addr::80} SMTP:{User:x Pass:<%dull%>} Auth:{JWTSecret:<%b62 32%> <#TTL:15m0s#>}}
=== go hash v
main.Config{User:"app", Password:"<%quote|json%>", <#Timeout:30#>}
=== python repr
Config(host='db', password='<%odd%>', <#token_ttl=3600#>)
=== python dict
DEBUG kwargs={'user': 'app', 'passwd': '<%strong%>', 'charset': 'utf8'}
=== python traceback
sqlalchemy.exc.ArgumentError: Could not parse SQLAlchemy URL from string 'postgres://app:<%weak fr%>@db/shop'
=== pydantic secret
<#settings: api_key=SecretStr('**********') debug=False#>
=== rust debug
Settings { database_url: "postgres://app:<%strong%>@db/shop", api_key: Some("<%b62 32%>"), <#workers: 4#> }
=== ruby inspect
#<Config:0x000<=hex 12=> @host="db", @password="<%odd%>", <#@pool=5#>>
=== ruby hash
{:user=>"app", :password=>"<%dull%>", :token=>nil}
=== php print_r
Array ( [host] => db [user] => app [password] => <%weak es%> [port] => 3306 )
=== php var_dump
["db_password"]=> string(12) "<%b62 12%>"
=== php pdo trace
#0 /var/www/db.php(12): PDO->__construct('mysql:host=db;d...', 'root', '<%dull%>')
=== node inspect
{ host: 'db', auth: { user: 'app', pass: '<%odd%>' }, <#maxRedirects: 21#> }
=== elixir keyword
[hostname: "db", username: "app", password: "<%strong%>", <#pool_size: 10#>]
=== erlang
{default_pass,<<"<%dull%>">>} {cookie,'<%upper 20%>'}
=== clojure edn
{:db {:user "app" :password "<%dull%>"} <#:port 5432#>}
=== dotnet
Using connection string 'Server=sql;Database=S;User ID=sa;Password=<%odd%>;<#Encrypt=True#>'
=== lua table
config = { user = "app", pass = "<%dull%>", <#timeout = 3000#> }
=== logfmt
ts=2026-03-04T05:06:07Z level=info msg="login ok" user=anna passwort="<%phrase%>" <#trace_id=<=hex 32=>#>
=== logfmt bare
level=warn msg="slow query" dsn=app:<%strong%>@tcp(db:3306)/shop dur=12s
=== json structured
{"level":"info","msg":"cfg","db":{"user":"app","password":"<%quote|json%>"},"<#trace_id#>":"<#<=hex 32=>#>"}
=== json escaped
{"log":"<json{{"event":"auth","apiKey":"<%b62 32%>","<#status#>":401}}json>\n","stream":"stdout"}
=== json body in message
{"msg":"request body: <json{grant_type=password&username=anna&password=<%odd|url%>&<#scope=openid#>}json>"}
=== json headers array
{"headers":[["authorization","Bearer <%b62 40%>"],["<#x-request-id#>","<#<=uuid=>#>"],["cookie","sessionid=<%b62 32%>"]]}
=== name value pairs
{"env":[{"name":"MOT_DE_PASSE","value":"<%weak fr%>"},{"name":"<#LOG_LEVEL#>","value":"<#debug#>"}]}
=== mysql general log
2026-03-04T05:06:07Z 42 Query	SET PASSWORD FOR 'app'@'%' = '<%odd%>'
=== postgres log
LOG:  execute <unnamed>: UPDATE users SET password = '<%dull%>', <#updated_at = now()#> WHERE id = 7
ERROR:  syntax error at or near "x" STATEMENT: CREATE USER etl PASSWORD '<%weak pt%>'
=== postgres parameters
DETAIL:  parameters: $1 = 'anna@example.com', $2 = '<~dull~>'
=== oracle
ALTER USER shop IDENTIFIED BY "<%quote|json%>" REPLACE "<%strong%>"
=== sql insert
INSERT INTO api_tokens (name, token) VALUES ('ci', '<%b62 40%>'), <#('count', 3)#>
=== mongo command
{"t":{"$date":"2026-03-04T05:06:07Z"},"c":"COMMAND","attr":{"command":{"createUser":"app","pwd":"<%dull%>","roles":["readWrite"]}}}
=== redis monitor
1760000000.1 [0 10.42.0.7:5123] "AUTH" "app" "<%dull%>"
1760000000.2 [0 10.42.0.7:5123] "SET" "<#cache:token:count#>" "3"
=== redis cli
-ERR wrong number of arguments for 'config', with args beginning with: 'set' 'requirepass' '<%b62 14%>'
=== ldap bind
conn=1001 op=0 BIND dn="cn=app,dc=acme" method=128 pw=<%dull%>
=== shell trace
+ mysql -h db -u root -p<%odd%> shop
++ export AWS_SECRET_ACCESS_KEY=<%b64 30%>
+ curl -u admin:<%weak en%> https://es:9200
<#+ kubectl get secret shop-db -o name#>
=== env dump
HOSTNAME=shop-<=suffix 10=>-<=suffix 5=>
DB_PASSWORD=<%odd%>
<#KUBERNETES_SERVICE_PORT_HTTPS=443#>
SENHA=<%weak pt%>
=== terraform output
  + password = "<%strong%>"
  ~ secret_string = jsonencode( ~ { "pw": "<%dull%>" -> "<%dull%>" } )
<#  + arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:shop/db-<=b62 6=>"#>
=== ansible task
changed: [db1] => {"changed": true, "cmd": "mysql -uroot -p<%strong%>", "<#delta#>": "0:00:00.1"}
=== generated password
[Entrypoint] GENERATED ROOT PASSWORD: <%b64 24%>
<#[Entrypoint] Database files initialized#>
=== initial admin jenkins
Please use the following password to proceed to installation:

<%hex 32%>

<#This may also be found at: /var/jenkins_home/secrets/initialAdminPassword#>
=== elastic first start
Password for the elastic user (reset with `bin/elasticsearch-reset-password -u elastic`):
  <%b62 20%>
<#HTTP CA certificate SHA-256 fingerprint:#>
  <#<=hex 64=>#>
=== vault init
Unseal Key 1: <%b64 33%>
Unseal Key 2: <%b64 33%>
Initial Root Token: <%b62 24 hvs.%>
=== argocd jupyter
To access the server: http://127.0.0.1:8888/lab?token=<%hex 48%>
=== rancher bootstrap
Bootstrap Password: <%lower 54%>
=== k3s join
K3S_TOKEN=K10<=hex 64=>::server:<%hex 32%>
=== wireguard dump
wg0	<%b64 32%>	<#<=b64 32=>#>	51820	off
=== pem cut by cri
<%rsa|log%>
=== pem in journald
app[1]: key=<%ec|esc%>
=== urlencoded form
body=username=anna&passwort=<%odd|url%>&csrf=<%b62 32%>
=== german prose
Anmeldung mit Passwort <%weak de%> fehlgeschlagen
=== french prose
connexion refusée : mot de passe « <%weak fr%> » invalide
=== spanish prose
Contraseña incorrecta: <%weak es%>
=== english prose
invalid password "<%phrase%>" for user anna
=== otp sms
sending sms to +491700000000: your code is <~digits 6~>
=== magic link
mail sent: https://app.example.com/reset?reset_token=<%url64 24%>&<#lang=de#>
https://app.example.com/invite/<%url64 32%>
=== gcp key json
credentials: {"type":"service_account","private_key":"<%pkcs8|esc%>\n"}
=== base64 config
config=<b64{{"db_password":"<%strong%>","<#pool#>":5}}b64>
=== gzip state
state=<gz{{"resources":[{"password":"<%strong%>","<#id#>":"x-1"}]}}gz>
=== smtp dialogue
C: AUTH PLAIN <b64{ anna <%strong%>}b64>
C: AUTH LOGIN <b64{shop@example.com}b64>
S: 334 UGFzc3dvcmQ6
C: <b64{<%strong%>}b64>
=== ftp dialogue
> USER shop
> PASS <%odd%>
<#< 230 Login successful.#>
=== imap
a1 LOGIN anna@example.com "<%dull%>"
=== snmp and radius
User-Password = "<%dull%>" NAS-IP-Address = 10.0.0.1
=== asterisk
secret=<%dull%> <#qualify=yes#>
""")
