"""Logs as they run past on call."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== hikari
2026-03-04 05:06:07.123  INFO 1 --- [           main] com.zaxxer.hikari.HikariDataSource       : HikariPool-1 - Starting...
2026-03-04 05:06:08.455 ERROR 1 --- [           main] com.zaxxer.hikari.pool.HikariPool        : HikariPool-1 - Exception during pool initialization.
org.postgresql.util.PSQLException: FATAL: password authentication failed for user "orders"
	at org.postgresql.core.v3.ConnectionFactoryImpl.doAuthentication(ConnectionFactoryImpl.java:659)
2026-03-04 05:06:08.470 DEBUG 1 --- [           main] c.n.orders.config.DataSourceConfig       : url=jdbc:postgresql://orders-db/orders user=orders password=<%strong%> poolSize=20
2026-03-04 05:06:08.512  INFO 1 --- [           main] c.n.orders.Application                   : Using generated security password: <%uuid%>
=== spring default password
2026-03-04 05:06:07.900  INFO 1 --- [           main] o.s.s.web.DefaultSecurityFilterChain     : Will secure any request with [CsrfFilter, LogoutFilter, BasicAuthenticationFilter]
2026-03-04 05:06:07.955  WARN 1 --- [           main] .s.s.UserDetailsServiceAutoConfiguration :

Using generated security password: <%uuid%>

This generated password is for development use only.
=== gin access
[GIN] 2026/03/04 - 05:06:07 | 200 |     1.2341ms |      10.42.0.17 | GET      "/api/v1/orders?page=2"
[GIN] 2026/03/04 - 05:06:07 | 302 |       312.5µs |      10.42.0.17 | GET      "/callback?code=<%base62 36%>&state=<=base62 16=>"
[GIN] 2026/03/04 - 05:06:09 | 200 |     9.2341ms |      10.42.0.19 | GET      "/export?access_token=<%jwt%>"
[GIN] 2026/03/04 - 05:06:09 | 401 |      99.41µs |      10.42.0.19 | GET      "/export"
=== nginx access
10.42.1.9 - - [04/Mar/2026:05:06:07 +0000] "GET /track/<=base62 12=>?utm_source=mail HTTP/1.1" 200 512 "https://shop.nordlicht.example/" "Mozilla/5.0 (X11; Linux x86_64)"
10.42.1.9 - - [04/Mar/2026:05:06:08 +0000] "GET /partner/v1/rates?apikey=<%base62 32%>&zone=DE HTTP/1.1" 200 993 "-" "python-requests/2.32"
10.42.1.9 - jana [04/Mar/2026:05:06:08 +0000] "POST /login HTTP/1.1" 302 0 "-" "Mozilla/5.0"
10.42.1.9 - - [04/Mar/2026:05:06:11 +0000] "GET /reset?email=kunde%40mail.example&token=<%hex 40%> HTTP/1.1" 200 2210 "-" "Mozilla/5.0"
=== django
Internal Server Error: /api/labels/
Traceback (most recent call last):
  File "/usr/local/lib/python3.12/site-packages/django/db/backends/base/base.py", line 279, in ensure_connection
    self.connect()
  File "/app/parcel/dhl.py", line 88, in login
    session.auth = ("nordlicht", "<%dull%>")
requests.exceptions.ConnectionError: HTTPSConnectionPool(host='cig.dhl.example', port=443): Max retries exceeded with url: /services?user=nordlicht&password=<%dull%> (Caused by NewConnectionError('failed to resolve'))
django.db.utils.OperationalError: connection to server at "parcel-db" (10.43.0.12), port 5432 failed: FATAL: no pg_hba.conf entry
=== celery
[2026-03-04 05:06:07,120: INFO/MainProcess] Connected to amqp://parcel:**@rabbitmq.messaging.svc:5672/parcel
[2026-03-04 05:06:07,301: ERROR/MainProcess] consumer: Cannot connect to amqp://parcel:<%dull%>@rabbitmq.messaging.svc:5672//: [Errno 111] Connection refused.
[2026-03-04 05:06:09,301: INFO/MainProcess] Task parcel.tasks.label[<=uuid=>] received
=== laravel
[2026-03-04 05:06:07] production.ERROR: SQLSTATE[HY000] [1045] Access denied for user 'storefront'@'10.42.0.9' (using password: YES) {"exception":"[object] (PDOException(code: 1045))"}
#0 /var/www/vendor/laravel/framework/src/Illuminate/Database/Connectors/Connector.php(70): PDO->__construct('mysql:host=mysq...', 'storefront', '<%dull%>', Array)
#1 /var/www/vendor/laravel/framework/src/Illuminate/Database/Connectors/Connector.php(46): Illuminate\Database\Connectors\Connector->createPdoConnection()
[2026-03-04 05:06:08] production.INFO: payment intent {"id":"pi_3<=base62 24=>","client_secret":"pi_3<%base62 24%>_secret_<%base62 25%>"}
=== php warning
PHP Warning:  mysqli_connect(): (HY000/2002): Connection refused in /var/www/html/db.inc on line 4
PHP Warning:  ldap_bind(): Unable to bind to server: Invalid credentials in /var/www/html/auth.php on line 31
NOTICE: PHP message: curl https://api.gls.example/public/v1 auth=nordlicht:<%dull%> status=503
=== dotnet
info: Microsoft.Hosting.Lifetime[14] Now listening on: http://[::]:8080
fail: Billing.Startup[0] Cannot open database "Billing" requested by the login. ConnectionString: Server=sql-prod;Database=Billing;User Id=billing_app;Password=<%strong%>;
      Microsoft.Data.SqlClient.SqlException (0x80131904): Login failed for user 'billing_app'.
dbug: System.Net.Http.HttpClient.Datev.LogicalHandler[102] Request Headers: Authorization: Bearer <%jwt%> Accept: application/json
=== go json
{"level":"info","ts":1772600767.123,"caller":"main.go:42","msg":"config loaded","config":{"listen":":8080","db_password":"<%base62 18%>","token_ttl":"15m","nats":"nats://tracking:<%dull%>@nats:4222"}}
{"level":"info","ts":1772600767.201,"caller":"http/server.go:88","msg":"request","trace_id":"<=trace=>","span_id":"<=span=>","path":"/v1/track","status":200}
{"level":"debug","ts":1772600767.412,"msg":"outgoing request","headers":{"Authorization":["Bearer <%base62 40%>"],"Content-Type":["application/json"],"X-Request-Id":["<=uuid=>"]}}
=== logfmt
time=2026-03-04T05:06:07Z level=info msg="starting" version=1.44.2 commit=<=git=>
time=2026-03-04T05:06:07Z level=debug msg="env" DB_HOST=mysql DB_PASS=<%dull%> LOG_LEVEL=debug
time=2026-03-04T05:06:08Z level=info msg="token refreshed" token_type=Bearer expires_in=300 key_id=<=uuid=>
=== entrypoint
+ set -e
+ export DB_PASSWORD=<%strong%>
+ DB_PASSWORD=<%dull%>
+ mysql -h mysql-primary -u crm -p<%dull%> crm -e 'select 1'
+ exec java -Dlicense.key=<%licence%> -jar /app/crm.jar
+ echo 'waiting for db'
=== init job
Waiting for orders-db:5432 ... ok
NOTE: created admin user "admin" with password "<%base62 16%>"
postgresql 05:06:07.11 INFO  ==> ** PostgreSQL setup finished! **
Initial admin token: <%hex 40%>
Please change it after the first login. Password must have at least 12 characters.
=== jenkins first start
*************************************************************
Jenkins initial setup is required. An admin user has been created and a password generated.
Please use the following password to proceed to installation:

<%hex 32%>

This may also be found at: /var/jenkins_home/secrets/initialAdminPassword
*************************************************************
=== argocd and rancher bootstrap
2026/03/04 05:06:07 [INFO] Bootstrap Password: <%base62 20%>
time="2026-03-04T05:06:07Z" level=info msg="Loading TLS configuration from secret argocd/argocd-server-tls"
2026/03/04 05:06:08 [INFO] Listening on :443, cert sha256 <=sha256=>
=== vault init | unusual
Unseal Key 1: <%base64 33%>
Unseal Key 2: <%base64 33%>
Unseal Key 3: <%base64 33%>

Initial Root Token: <%vault%>

Vault initialized with 3 key shares and a key threshold of 2.
=== ci runner
Running with gitlab-runner 17.9.0 (c4cbe9dd) on k8s-large <=base62 9=>, system ID: s_<=hex 12=>
$ git remote set-url origin https://ci:<%gitlab%>@git.nordlicht.example/orders/api.git
$ docker login -u $CI_REGISTRY_USER -p $CI_REGISTRY_PASSWORD $CI_REGISTRY
$ mvn deploy -Dnexus.password=<%dull%>
Uploading artifacts... id=118221 responseStatus=201 Created token=64_<=base62 5=>
[notice] npm notice integrity: sha512-<=base64 64=>
=== airflow task
[2026-03-04, 05:06:07 UTC] {taskinstance.py:1138} INFO - Dependencies all met for <TaskInstance: nightly.load manual__2026-03-04T05:00:00+00:00 [queued]>
[2026-03-04, 05:06:08 UTC] {base.py:84} INFO - Using connection ID 'dwh' for task execution.
[2026-03-04, 05:06:08 UTC] {subprocess.py:75} INFO - Running command: ['bash', '-c', "sqlcmd -S dwh -U etl -P <%dull%> -Q 'exec load'"]
[2026-03-04, 05:06:09 UTC] {logging_mixin.py:188} INFO - Engine(snowflake://LOADER:***@ab12345/DWH)
[2026-03-04, 05:06:09 UTC] {logging_mixin.py:188} INFO - {'host': 'sftp.partner.example', 'login': 'nordlicht', 'password': '<%dull%>', 'port': 22}
=== kafka client
INFO ConsumerConfig values:
	bootstrap.servers = [kafka-0.kafka:9093]
	sasl.jaas.config = [hidden]
	ssl.key.password = null
	ssl.keystore.password = [hidden]
	sasl.mechanism = SCRAM-SHA-512
DEBUG properties: {security.protocol=SASL_SSL, sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="etl" password="<%base62 24%>";, group.id=etl}
=== spark driver
26/03/04 05:06:07 INFO SparkContext: Running Spark version 3.5.1
26/03/04 05:06:07 INFO SparkSubmit: Parsed arguments: --conf spark.hadoop.fs.s3a.secret.key=<%aws secret%> --conf spark.executor.memory=4g
26/03/04 05:06:09 INFO SecurityManager: SecurityManager: authentication disabled; ui acls disabled
26/03/04 05:06:11 INFO JDBCRelation: Number of partitions: 8, url: jdbc:sqlserver://dwh;user=etl;password=<%dull%>
=== jupyter
[I 2026-03-04 05:06:07.123 ServerApp] Serving notebooks from local directory: /home/jovyan
[I 2026-03-04 05:06:07.124 ServerApp] http://notebook-jana:8888/lab?token=<%hex 48%>
[I 2026-03-04 05:06:07.124 ServerApp]  or http://127.0.0.1:8888/lab?token=<...>
[I 2026-03-04 05:06:09.511 ServerApp] Kernel started: <=uuid=>
=== llm proxy
INFO: 10.42.0.8:41122 - "POST /v1/chat/completions HTTP/1.1" 401 Unauthorized
openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided: sk-proj-****abcd.', 'type': 'invalid_request_error', 'code': 'invalid_api_key'}}
DEBUG:litellm:Request to litellm: completion(model='azure/gpt-4o', api_key='<%hex 32%>', max_tokens=4096)
usage: {'prompt_tokens': 412, 'completion_tokens': 88, 'total_tokens': 500}
=== operator
{"level":"info","ts":"2026-03-04T05:06:07Z","logger":"controllers.Tenant","msg":"reconciling","tenant":"shop/tenant-hamburg","generation":7}
{"level":"debug","ts":"2026-03-04T05:06:08Z","logger":"controllers.Tenant","msg":"rendered manifest","manifest":"apiVersion: v1\nkind: Secret\nmetadata:\n  name: tenant-hamburg\nstringData:\n  password: <%dull%>\n"}
{"level":"info","ts":"2026-03-04T05:06:08Z","logger":"controllers.Tenant","msg":"exec","cmd":["psql","-c","ALTER ROLE hamburg PASSWORD '<%strong%>'"]}
=== postgres statements
2026-03-04 05:06:07.001 UTC [112] LOG:  statement: ALTER ROLE reporting WITH PASSWORD '<%dull%>';
2026-03-04 05:06:07.412 UTC [113] LOG:  duration: 812.331 ms  execute <unnamed>: select id, password_hash from users where token_id = $1
2026-03-04 05:06:07.412 UTC [113] DETAIL:  parameters: $1 = '<=uuid=>'
2026-03-04 05:06:09.100 UTC [114] FATAL:  password authentication failed for user "reporting"
=== mysql general log | unusual
2026-03-04T05:06:07.000001Z	  812 Query	SET PASSWORD FOR 'crm'@'%' = '<%dull%>'
2026-03-04T05:06:07.000201Z	  813 Connect	crm@10.42.0.9 on crm using TCP/IP
2026-03-04T05:06:07.000401Z	  813 Query	UPDATE config SET value='<%human%>' WHERE name='smtp_pass'
=== smtp debug | unusual
SMTP -> FROM SERVER: 250-AUTH PLAIN LOGIN
CLIENT -> SERVER: AUTH LOGIN
CLIENT -> SERVER: <b64{alerts@nordlicht.example}b64>
CLIENT -> SERVER: <b64{<%human%>}b64>
SERVER -> CLIENT: 235 2.7.0 Authentication successful
=== curl verbose
*   Trying 10.43.0.8:443...
* SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384
> GET /api/v1/prices HTTP/1.1
> Host: erp.nordlicht.example
> Authorization: Basic <%basic%>
> X-Api-Key: <%base62 40%>
< HTTP/1.1 200 OK
< Set-Cookie: JSESSIONID=<%crockford 32%>; Path=/; HttpOnly
< ETag: "<=md5=>"
=== chat of people | unusual
[bot] jana: neues Passwort fürs Lagersystem ist <%human%> bitte nicht weitergeben 🙏
[bot] ole: danke, geht. Token vom Drucker auch neu?
[bot] jana: ja, PIN <%digits 8%>, steht im Tresor
[bot] mehmet: der Zugang für DPD: nordlicht / <%dull%>
=== fastapi settings | unusual
INFO:     Started server process [1]
DEBUG:app:Settings(db_dsn=PostgresDsn('postgresql://forecast:<%dull%>@ml-db/forecast'), api_key='<%base62 32%>', secret=SecretStr('**********'), max_tokens=512)
INFO:     Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)
=== rails log | unusual
Started POST "/users/sign_in" for 10.42.0.9 at 2026-03-04 05:06:07 +0000
  Parameters: {"authenticity_token"=>"<%base64 64%>", "user"=>{"email"=>"jana@nordlicht.example", "password"=>"[FILTERED]"}, "commit"=>"Log in"}
  Parameters: {"carrier"=>"dhl", "carrier_pwd"=>"<%dull%>"}
Completed 302 Found in 41ms (ActiveRecord: 3.1ms | Allocations: 9123)
=== dead letter | unusual
2026-03-04 05:06:07 WARN  DeadLetterHandler - dropping message: <?xml version="1.0"?><Envelope><Header><Security><UsernameToken><Username>nordlicht</Username><Password Type="PasswordText"><%dull%></Password></UsernameToken></Security></Header></Envelope>
2026-03-04 05:06:07 WARN  DeadLetterHandler - message id ID:mq-old-<=digits 5=>-<=epoch=>-4:1:1:1:<=digits 3=>
"""
