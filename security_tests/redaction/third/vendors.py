"""Environments full of other companies' keys, and of names in other languages."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["ENVIRONMENTS"]

ENVIRONMENTS: Final = markup.sections(r"""
=== llm gateway
OPENAI_API_KEY=<%b62 48 sk-proj-%>
ANTHROPIC_API_KEY=<%url64 70 sk-ant-api03-%>
MISTRAL_API_KEY=<%b62 32%>
GROQ_API_KEY=<%b62 52 gsk_%>
COHERE_API_KEY=<%b62 40%>
HF_TOKEN=<%b62 34 hf_%>
REPLICATE_API_TOKEN=<%b62 37 r8_%>
PERPLEXITY_KEY=<%b62 48 pplx-%>
XAI_KEY=<%b62 80 xai-%>
DEEPSEEK_KEY=<%hex 32 sk-%>
TOGETHER_AI=<%hex 64%>
FIREWORKS_KEY=<%b62 24 fw_%>
ELEVENLABS_XI_KEY=<%hex 48 sk_%>
TAVILY_KEY=<%b62 32 tvly-%>
LANGFUSE_SECRET_KEY=sk-lf-<%uuid%>
LANGSMITH_KEY=<%hex 32 lsv2_pt_%>
PINECONE_KEY=<%b62 69 pcsk_%>
QDRANT_KEY=<%jwt%>
WEAVIATE_AUTH=Bearer <%b62 36%>
LITELLM_MASTER_KEY=sk-<%dull%>
AZURE_OPENAI_KEY=<%hex 32%>
VERTEX_CREDS={"type":"service_account","project_id":"shop","private_key_id":"<~hex 40~>","private_key":"<%pkcs8|esc%>\n","client_email":"llm@shop.iam.gserviceaccount.com"}
~LANGFUSE_PUBLIC_KEY=pk-lf-<=uuid=>
~MAX_TOKENS=4096
~TOKENIZER=cl100k_base
~OPENAI_API_KEY_SECRET_NAME=llm-openai
~TOKENIZERS_PARALLELISM=false
~EMBEDDING_MODEL_SHA=<=hex 64=>
=== saas
STRIPE_SECRET=<%b62 24 rk_live_%>
STRIPE_WEBHOOK_SIGNING=<%b62 32 whsec_%>
TWILIO_AUTH=<%hex 32%>
SENDGRID_KEY=SG.<=url64 16=>.<%url64 32%>
MAILGUN_SMTP_PASSWORD=<%hex 32%>
SLACK_BOT=xoxb-<=digits 11=>-<%b62 24%>
SLACK_SIGNING_SECRET=<%hex 32%>
DISCORD_HOOK=https://discord.com/api/webhooks/<=digits 18=>/<%url64 48%>
TELEGRAM_BOT=<=digits 9=>:<%url64 26%>
TEAMS_WEBHOOK=https://acme.webhook.office.com/webhookb2/<=uuid=>@<=uuid=>/IncomingWebhook/<%hex 32%>/<=uuid=>
PAGERDUTY_INTEGRATION=<%hex 32%>
OPSGENIE_APIKEY=<%uuid%>
DATADOG_APP_KEY=<%hex 40%>
DD_API_KEY=<%hex 32%>
NEW_RELIC_LICENSE_KEY=<%hex 36%>NRAL
SENTRY_AUTH=<%b62 43 sntrys_%>
SENTRY_DSN=https://<~hex 32~>@o123456.ingest.sentry.io/4501
SPLUNK_HEC_TOKEN=<%uuid%>
HONEYCOMB_WRITEKEY=<%b62 22%>
OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team=<%b62 22%>,x-honeycomb-dataset=shop
LAUNCHDARKLY_SDK=sdk-<%uuid%>
ALGOLIA_ADMIN=<%hex 32%>
MAPBOX_SK=<%b62 60 sk.eyJ1Ijoi%>
GITHUB_PAT=<%b62 36 ghp_%>
GH_APP_PEM=<%rsa%>
NPM_AUTH=<%b62 36 npm_%>
DOCKER_AUTH_CONFIG={"auths":{"ghcr.io":{"auth":"<%basic%>"}}}
SHOPIFY_ADMIN=<%hex 32 shpat_%>
ADYEN_HMAC=<%hex 64%>
KLARNA_PW=<%b62 16%>
JIRA_TOKEN=<%url64 24 ATATT3x%>
LINEAR_KEY=<%b62 40 lin_api_%>
NOTION_INTEGRATION=<%b62 43 secret_%>
AIRTABLE_PAT=pat<=b62 14=>.<%hex 64%>
FIGMA_TOKEN=<%url64 30 figd_%>
DOPPLER_TOKEN=<%b62 43 dp.st.prd.%>
VAULT_TOKEN=<%b62 24 hvs.%>
VAULT_SECRET_ID=<%uuid%>
TAILSCALE_AUTHKEY=<%b62 24 tskey-auth-%>
PULUMI_ACCESS=<%hex 40 pul-%>
VAULT_ROLE_ID=<~uuid~>
~STRIPE_PUBLISHABLE=pk_live_<=b62 24=>
~TWILIO_SID=AC<=hex 32=>
~SLACK_CHANNEL_ID=C0<=upper 9=>
~NEW_RELIC_ACCOUNT_ID=<=digits 7=>
~VAULT_PATH=secret/data/shop/prod/stripe
~ALGOLIA_INDEX=prod_products_<=hex 8=>
~DATADOG_TRACE_ID=<=hex 32=>
=== german
DATENBANK_PASSWORT=<%weak de%>
DB_KENNWORT=<%weak de%>
API_SCHLUESSEL=<%b62 32%>
ZUGANGSSCHLUESSEL=<%b62 24%>
GEHEIMNIS=<%b62 20%>
SAP_BENUTZER_PW=<%weak de%>
PASSWORT_SFTP=<%sentence%>
~PASSWORT_MINDESTLAENGE=12
~KENNWORT_ABLAUF_TAGE=90
~SCHLUESSEL_DATEI=/etc/ssl/private/server.key
~PASSWORT_ZURUECKSETZEN_AKTIV=ja
=== french
MOT_DE_PASSE=<%weak fr%>
MDP_BASE=<%weak fr%>
CLE_API=<%hex 32%>
JETON_ACCES=<%b62 40%>
MOTDEPASSE_LDAP=<%odd%>
~LONGUEUR_MOT_DE_PASSE=10
~CLE_PUBLIQUE=/etc/cles/publique.pem
~MOT_DE_PASSE_OUBLIE_URL=https://id.example.fr/oublie
=== spanish portuguese
CONTRASENA_BD=<%weak es%>
CLAVE_API=<%b62 32%>
DB_CLAVE=<%weak es%>
LLAVE_PRIVADA=<%hex 64%>
SENHA=<%weak pt%>
SENHA_BANCO=<%weak pt%>
CHAVE_SECRETA=<%b62 24%>
CHAVE_API_PIX=<%uuid%>
~CLAVE_PRIMARIA=id_pedido
~SENHA_TAMANHO_MINIMO=8
~CHAVE_ESTRANGEIRA=cliente_id
=== japanese and others
DB_PASUWADO=<%weak ja%>
ANGO_KAGI=<%hex 32%>
HIMITSU_KEY=<%b62 24%>
DB_WACHTWOORD=<%dull%>
HASLO_DO_BAZY=<%dull%>
HESLO=<%dull%>
LOSENORD=<%dull%>
SIFRE=<%pin%>
PAROLA_DB=<%dull%>
TUNNUSSANA_SALASANA=<%dull%>
~KAGI_FILE=/run/kagi.pem
=== house names
ORACLE_SYS_PW=<%weak en%>
FTP_PASS=<%odd%>
LDAP_BINDPW=<%quote%>
SFTP_PASSPHRASE=<%phrase%>
ALARM_PIN=<%pin%>
UNSEAL_KEY_1=<%b64 33%>
GPG_PASSPHRASE=<%sentence%>
MASTER_PW=<%phrase%>
SMTP_CREDS=mailer:<%strong%>
ADMIN_LOGIN=admin/<%weak en%>
BASIC_AUTH=ops:<%dull%>
PW=<%weak en%>
CREDS_JSON={"u":"sync","p":"<%strong%>"}
PASSWD=<%pin%>
SIGNING_SALT=<%hex 32%>
HMAC=<%hex 64%>
ENCRYPTION_IV_KEY=<%hex 64%>
COOKIE_SEED=<%b62 32%>
REPLICATION_USER_PASSWORD=<%pin%>
LICENSE_KEY=<~dashed~>
SEED_PHRASE=<%phrase%>
TOTP_SEED=<%upper 32%>
WIREGUARD_PRIVKEY=<%b64 32%>
AGE_IDENTITY=<%upper 58 AGE-SECRET-KEY-1%>
DB_PW_OLD=<~:changeme~>
POSTGRES_PASSWORD=<~:postgres~>
~BYPASS_CACHE=true
~COMPASS_URL=https://compass.example.com
~PASSENGER_MIN_INSTANCES=4
~PWD=/srv/app
~OLDPWD=/srv
~MONKEY_PATCH=gevent
~KEYBOARD_LAYOUT=de-latin1-nodeadkeys
~TURKEY_REGION_ENABLED=true
~SECRETARY_EMAIL=secretary@example.com
~AUTHOR_NAME=Tokenova Passwordson
~PIN_NODES=true
~CREDIT_LIMIT=5000
~SALTSTACK_MASTER=salt.example.com
~PASSPORT_STRATEGY=google-oauth20
""")
