"""Pods of the company's own services: their env."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== orders spring boot
SPRING_PROFILES_ACTIVE=prod,k8s
SPRING_DATASOURCE_URL=jdbc:postgresql://orders-db.orders.svc:5432/orders?sslmode=require&ApplicationName=orders
SPRING_DATASOURCE_USERNAME=orders_app
SPRING_DATASOURCE_PASSWORD=<%strong%>
SPRING_RABBITMQ_PASSWORD=<%dull%>
SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_KEYCLOAK_CLIENT_ID=orders-backend
SPRING_SECURITY_OAUTH2_CLIENT_REGISTRATION_KEYCLOAK_CLIENT_SECRET=<%base62 32%>
JAVA_TOOL_OPTIONS=-XX:MaxRAMPercentage=75 -Djavax.net.ssl.trustStore=/etc/ssl/truststore.p12 -Djavax.net.ssl.trustStorePassword=<%dull%> -Dfile.encoding=UTF-8
MANAGEMENT_ENDPOINT_HEALTH_SHOW_DETAILS=when_authorized
JWT_TTL_MINUTES=15
=== freight tomcat
CATALINA_OPTS=-Xms1g -Xmx4g -Ddb.user=freight -Ddb.password=<%human%> -Dlog4j.configurationFile=/etc/freight/log4j2.xml
FREIGHT_DB_PW=<%human%>
FREIGHT_ERP_KENNWORT=<%human%>
KEYSTORE_PASS=<%dull%>
KEYSTORE_PATH=/etc/freight/keystore.jks
KEY_ALIAS=freight-2024
LDAP_BIND_DN=CN=svc-freight,OU=Service,DC=nordlicht,DC=example
LDAP_BIND_CREDENTIALS=<%human%>
SOAP_ENDPOINT=https://ws.customs.example/atlas/v3?wsdl
=== storefront laravel
APP_ENV=production
APP_KEY=base64:<%base64 32%>
APP_URL=https://shop.nordlicht.example
DB_CONNECTION=mysql
DB_PASSWORD=<%strong%>
REDIS_PASSWORD=<%base62 24%>
MAIL_MAILER=smtp
MAIL_USERNAME=postmaster@mg.nordlicht.example
MAIL_PASSWORD=<%hex 32%>
PUSHER_APP_KEY=<=hex 20=>
PUSHER_APP_SECRET=<%hex 20%>
SESSION_LIFETIME=120
SANCTUM_STATEFUL_DOMAINS=shop.nordlicht.example,admin.nordlicht.example
JWT_SECRET=<%base62 64%>
=== billing dotnet
ASPNETCORE_ENVIRONMENT=Production
ConnectionStrings__Default=Server=sql-prod.nordlicht.example,1433;Database=Billing;User Id=billing_app;Password=<%strong%>;Encrypt=True;TrustServerCertificate=False
ConnectionStrings__Redis=redis-master.cache.svc:6379,password=<%base62 20%>,ssl=False,abortConnect=False
ConnectionStrings__ServiceBus=Endpoint=sb://nordlicht.servicebus.windows.net/;SharedAccessKeyName=RootManageSharedAccessKey;SharedAccessKey=<%base64 32%>
AzureAd__TenantId=<=uuid=>
AzureAd__ClientId=<=uuid=>
AzureAd__ClientSecret=<%azure secret%>
Jwt__SigningKey=<%base64 48%>
Jwt__Issuer=https://login.nordlicht.example/realms/nordlicht
Storage__ConnectionString=DefaultEndpointsProtocol=https;AccountName=nordlichtinvoices;AccountKey=<%azure%>;EndpointSuffix=core.windows.net
=== tracking go
DATABASE_DSN=tracking:<%base62 18%>@tcp(mysql-primary.tracking.svc:3306)/tracking?parseTime=true&loc=UTC
NATS_URL=nats://tracking:<%dull%>@nats.messaging.svc:4222
S3_ENDPOINT=https://s3.eu-central-1.amazonaws.com
AWS_ACCESS_KEY_ID=<~aws id~>
AWS_SECRET_ACCESS_KEY=<%aws secret%>
OTEL_EXPORTER_OTLP_ENDPOINT=http://otel-collector.monitoring:4317
OTEL_RESOURCE_ATTRIBUTES=service.name=tracking,service.version=1.44.2,vcs.sha=<=git=>
HMAC_KEY=<%hex 64%>
RATE_LIMIT_TOKENS_PER_SECOND=50
=== parcel django
DJANGO_SETTINGS_MODULE=parcel.settings.production
SECRET_KEY=<%base62 50%>
DATABASE_URL=postgres://parcel:<%symbols|url%>@parcel-db.parcel.svc.cluster.local:5432/parcel?sslmode=prefer
CELERY_BROKER_URL=amqp://parcel:<%password%>@rabbitmq.messaging.svc:5672/parcel
CELERY_RESULT_BACKEND=redis://:<%base62 24%>@redis-master.cache.svc:6379/3
SENTRY_DSN=https://<~hex 32~>@o471102.ingest.sentry.io/5518932
EMAIL_HOST_PASSWORD=<%sendgrid%>
GOOGLE_MAPS_API_KEY=<%google%>
ALLOWED_HOSTS=parcel.nordlicht.example,parcel.parcel.svc
PASSWORD_RESET_TIMEOUT=3600
=== warehouse rails
RAILS_ENV=production
SECRET_KEY_BASE=<%hex 128%>
RAILS_MASTER_KEY=<%hex 32%>
DEVISE_PEPPER=<%hex 64%>
WAREHOUSE_DATABASE_PASSWORD=<%dull%>
ELASTICSEARCH_URL=http://elastic:<%base62 20%>@elasticsearch-es-http.search:9200
SIDEKIQ_WEB_USER=ops
SIDEKIQ_WEB_PASSWORD=<%dull%>
RAILS_SERVE_STATIC_FILES=true
=== dispatch phoenix
PHX_HOST=dispatch.nordlicht.example
SECRET_KEY_BASE=<%base64 48%>
RELEASE_COOKIE=<%crockford 32%>
DATABASE_URL=ecto://dispatch:<%base62 16%>@pg-dispatch/dispatch
POOL_SIZE=10
=== notify node
SLACK_BOT_TOKEN=<%slack%>
SLACK_CHANNEL_ID=C04<=upper 8=>
SENDGRID_API_KEY=<%sendgrid%>
TWILIO_ACCOUNT_SID=<~twilio id~>
TWILIO_AUTH_TOKEN=<%twilio%>
STRIPE_PUBLISHABLE_KEY=<~stripe public~>
STRIPE_SECRET_KEY=<%stripe%>
STRIPE_WEBHOOK_SECRET=<%stripe hook%>
TELEGRAM_BOT_TOKEN=<%telegram%>
FIREBASE_PROJECT_ID=nordlicht-push-4711
NODE_OPTIONS=--max-old-space-size=1536
TEAMS_WEBHOOK=https://nordlicht.webhook.office.com/webhookb2/<=uuid=>@<=uuid=>/IncomingWebhook/<%hex 32%>/<=uuid=>
=== pricing ml
MLFLOW_TRACKING_URI=https://mlflow.ml.svc:5000
MLFLOW_TRACKING_USERNAME=pricing
MLFLOW_TRACKING_PASSWORD=<%dull%>
HF_TOKEN=<%hf%>
OPENAI_API_KEY=<%openai%>
WANDB_API_KEY=<%hex 40%>
HF_HOME=/models/cache
TOKENIZERS_PARALLELISM=false
MAX_TOKENS=4096
MODEL_REVISION=<=git=>
PINECONE_API_KEY=<%uuid%>
LANGFUSE_SECRET_KEY=sk-lf-<%uuid%>
LANGFUSE_PUBLIC_KEY=pk-lf-<~uuid~>
=== import jobs | unusual
FTP_LOGIN=nordlicht/<%dull%>
ORACLE_CONN=apps/<%dull%>@//ora-ebs.nordlicht.example:1521/EBSPRD
SFTP_PASSPHRASE=<%phrase%>
EDI_PARTNERS=dhl:<%dull%>,ups:<%dull%>,gls:<%dull%>
SAP_RFC=ASHOST=sapprd.nordlicht.example SYSNR=00 CLIENT=100 USER=RFC_WMS PASSWD=<%human%> LANG=DE
CUSTOMS_CERT_PIN=<%digits 8%>
IMPORT_OPTS={"host":"as400.nordlicht.example","user":"QSECOFR","pwd":"<%human%>","lib":"WMSPRD"}
PARTNER_URL=https://edi.partner.example/upload?partner=nordlicht&apikey=<%base62 32%>&format=xml
=== legacy gateway | unusual
UPSTREAM_BASIC=<%basic%>
UPSTREAM_AUTH=Basic <%basic%>
X_API_HEADER=X-Api-Key: <%base62 40%>
HTTP_PROXY=http://svc-proxy:<%human|url%>@proxy.nordlicht.example:3128
NO_PROXY=.svc,.cluster.local,10.0.0.0/8,nordlicht.example
ADMIN_CREDS=admin:<%dull%>
ALLOWED_KEYS=<%uuid%>;<%uuid%>
SMTP_RELAY=smtp://relay:<%dull%>@mail.nordlicht.example:587?starttls=true
=== data export | unusual
GOOGLE_APPLICATION_CREDENTIALS_JSON={"type":"service_account","project_id":"nordlicht-dwh","private_key_id":"<~hex 40~>","private_key":"<%pkcs8|json%>\n","client_email":"export@nordlicht-dwh.iam.gserviceaccount.com"}
SIGNING_KEY_B64=<b64{<%rsa%>}b64>
EXPORT_SAS=https://nordlichtdwh.blob.core.windows.net/export?sv=2024-11-04&ss=b&srt=co&sp=rwl&se=2027-01-01T00:00:00Z&sig=<%base64 32|url%>
SNOWFLAKE_URI=snowflake://LOADER:<%strong%>@ab12345.eu-central-1/DWH/PUBLIC?warehouse=LOAD_WH
BQ_DATASET=nordlicht-dwh.mart
CONFIG_B64=<b64{db:
  host: dwh-db
  user: export
  password: <%dull%>
}b64>
=== kundenportal | unusual
DB_PASSWORT=<%human%>
ADMIN_KENNWORT=<%human%>
MOT_DE_PASSE_ERP=<%dull%>
HASLO_BAZY=<%dull%>
ANMELDUNG_TIMEOUT=30
SITZUNG_SCHLUESSEL=<%hex 48%>
"""
