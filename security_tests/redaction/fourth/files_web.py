"""ConfigMaps of the PHP, Python, Ruby, Go and Node services."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== .env
APP_NAME=Storefront
APP_ENV=production
APP_KEY=base64:<%base64 32%>
APP_DEBUG=false
LOG_CHANNEL=stderr
DB_HOST=mysql-primary
DB_USERNAME=storefront
DB_PASSWORD="<%strong%>"
MAIL_FROM_ADDRESS=hello@nordlicht.example
AWS_ACCESS_KEY_ID=<~aws id~>
AWS_SECRET_ACCESS_KEY=<%aws secret%>
ALGOLIA_APP_ID=B1G2GM9NG0
ALGOLIA_SECRET=<%hex 32%>
MIX_STRIPE_KEY=<~stripe public~>
STRIPE_SECRET=<%stripe%>
MAILGUN_SECRET=<%mailgun%>
=== wp-config.php
<?php
define( 'DB_NAME', 'blog' );
define( 'DB_USER', 'blog' );
define( 'DB_PASSWORD', '<%base62 16%>' );
define( 'DB_HOST', 'mysql-primary' );
define( 'AUTH_KEY',         '<%base62 64%>' );
define( 'SECURE_AUTH_SALT', '<%base62 64%>' );
define( 'NONCE_KEY',        '<%base62 64%>' );
define( 'FTP_PASS', '<%dull%>' );
define( 'WP_DEBUG', false );
$table_prefix = 'wp_';
=== parameters.yml
parameters:
    database_host: mysql-primary
    database_password: <%dull%>
    mailer_dsn: smtp://mailer:<%dull%>@smtp.nordlicht.example:587
    secret: <%hex 40%>
    jwt_passphrase: <%hex 32%>
    jwt_private_key_path: '%kernel.project_dir%/config/jwt/private.pem'
    locale: de
=== config.php
<?php
return [
    'db' => [
        'dsn' => 'mysql:host=mysql-primary;dbname=crm;charset=utf8mb4',
        'username' => 'crm',
        'password' => '<%dull%>',
    ],
    'components' => [
        'request' => ['cookieValidationKey' => '<%base62 32%>'],
        'mailer' => ['transport' => ['host' => 'smtp.nordlicht.example', 'pass' => '<%human%>']],
    ],
    'tokenLifetime' => 3600,
];
=== env.php | unusual
<?php
return [
    'backend' => ['frontName' => 'admin_9x2k'],
    'crypt' => ['key' => '<%hex 32%>'],
    'db' => ['connection' => ['default' => ['host' => 'mysql', 'dbname' => 'magento', 'username' => 'magento', 'password' => '<%strong%>', 'active' => '1']]],
    'session' => ['save' => 'redis', 'redis' => ['host' => 'redis', 'password' => '<%base62 20%>', 'database' => '2']],
];
=== legacy include | unusual
file: db.inc
<?php
$dbh = mysql_connect("mysql-legacy", "intranet", "<%dull%>") or die("no db");
$ldap_pw = '<%human%>';
$cfg['Servers'][$i]['controlpass'] = '<%dull%>';
// password is rotated by IT every 90 days
=== settings.py
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY = "django-insecure-<%base62 50%>"
DEBUG = False
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "USER": "parcel",
        "PASSWORD": "<%strong%>",
        "HOST": "parcel-db",
    },
    "reports": dj_database_url.parse("mysql://reports:<%dull%>@mysql-replica/reports"),
}
AUTH_PASSWORD_VALIDATORS = [{"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"}]
EMAIL_HOST_PASSWORD = os.environ["EMAIL_HOST_PASSWORD"]
SOCIAL_AUTH_GITHUB_SECRET = "<%hex 40%>"
AWS_S3_SIGNATURE_VERSION = "s3v4"
=== superset_config.py
SECRET_KEY = '<%base64 42%>'
SQLALCHEMY_DATABASE_URI = 'postgresql://superset:<%dull%>@superset-db/superset'
WTF_CSRF_EXEMPT_LIST = ['superset.views.core.log']
OAUTH_PROVIDERS = [{
    'name': 'keycloak', 'token_key': 'access_token',
    'remote_app': {'client_id': 'superset', 'client_secret': '<%base62 32%>',
                   'api_base_url': 'https://login.nordlicht.example/realms/ops/protocol/openid-connect'},
}]
=== jupyterhub_config.py
c.JupyterHub.cookie_secret = bytes.fromhex("<%hex 64%>")
c.ConfigurableHTTPProxy.auth_token = "<%hex 64%>"
c.GenericOAuthenticator.client_secret = "<%base62 32%>"
c.GenericOAuthenticator.username_key = "preferred_username"
c.KubeSpawner.image = "registry.nordlicht.example/ml/notebook:2026.03.1"
c.DummyAuthenticator.password = "<%dull%>"
=== database.yml
production:
  adapter: postgresql
  host: warehouse-db
  username: warehouse
  password: <%dull%>
  pool: <%= ENV.fetch("RAILS_MAX_THREADS") { 5 } %>
reporting:
  url: postgres://ro:<%base62 14%>@warehouse-ro/warehouse
test:
  password: <%= ENV["TEST_DB_PASSWORD"] %>
=== secrets.yml
production:
  secret_key_base: <%hex 128%>
  otp_key_base: <%hex 128%>
  omniauth:
    google_oauth2:
      app_id: 4711-<=lower 32=>.apps.googleusercontent.com
      app_secret: GOCSPX-<%base62 28%>
=== config.toml
[server]
listen = ":8080"
session_key = "<%hex 64%>"
[database]
dsn = "host=tracking-db port=5432 user=tracking password=<%strong%> dbname=tracking sslmode=disable"
max_open_conns = 25
[smtp]
user = "tracking"
pass = "<%dull%>"
[oauth]
client_id = "tracking-ui"
client_secret = "<%base62 32%>"
token_url = "https://login.nordlicht.example/realms/nordlicht/protocol/openid-connect/token"
=== config.json
{
  "port": 3000,
  "mongo": "mongodb+srv://notify:<%base62 16%>@cluster0.ab1cd.mongodb.net/notify?retryWrites=true&w=majority",
  "jwt": {"secret": "<%base62 48%>", "expiresIn": "15m", "algorithm": "HS256"},
  "session": {"name": "sid", "secret": ["<%base62 32%>", "<%base62 32%>"]},
  "push": {"vapidPublicKey": "<~base64url 65~>", "vapidPrivateKey": "<%base64url 32%>"},
  "captcha": {"siteKey": "6Ld<~base62 37~>", "secretKey": "6Ld<%base62 37%>"}
}
=== config.js
module.exports = {
  platform: "gitlab",
  endpoint: "https://git.nordlicht.example/api/v4/",
  token: "<%gitlab%>",
  hostRules: [{ hostType: "docker", matchHost: "registry.nordlicht.example", username: "robot$renovate", password: "<%base62 32%>" }],
  autodiscover: true,
  npmrc: "//npm.nordlicht.example/:_authToken=<%npm%>",
};
=== app-config.yaml
app:
  title: Nordlicht Portal
backend:
  auth:
    keys:
      - secret: <%base64 24%>
  database:
    client: pg
    connection: {host: backstage-db, user: backstage, password: <%dull%>}
integrations:
  github:
    - host: github.com
      token: <%github%>
auth:
  providers:
    microsoft:
      production:
        clientId: <=uuid=>
        clientSecret: <%azure secret%>
        tenantId: <=uuid=>
=== prod.secret.exs | unusual
import Config
config :dispatch, Dispatch.Repo,
  username: "dispatch",
  password: "<%dull%>",
  hostname: "pg-dispatch"
config :dispatch, DispatchWeb.Endpoint, secret_key_base: "<%base64 48%>"
config :dispatch, :carrier_keys, %{dhl: "<%base62 32%>", ups: "<%hex 40%>"}
=== carriers.csv | unusual
carrier,endpoint,user,password,active
dhl,https://cig.dhl.example/services/production,nordlicht,<%dull%>,1
gls,https://api.gls.example/public/v1,276a45fkqM,<%base62 14%>,1
dpd,https://public-ws.dpd.example,2763012345,<%dull%>,0
=== feature-flags.json
{"sdk_key": "sdk-<%uuid%>", "base_uri": "https://relay.nordlicht.example", "flags": {"new-password-policy": true, "token_refresh": "off"}}
=== notes.md | unusual
# Runbook storefront

Admin panel: https://shop.nordlicht.example/admin_9x2k, user `root`, password `<%dull%>` (ask Jana for the new one).
Database: `mysql -h mysql-primary -u storefront -p'<%strong%>' storefront`
The API token of DHL sandbox is <%base62 32%>, it expires in March.
To rotate, see https://wiki.nordlicht.example/display/OPS/Rotate+Secrets
=== nginx default
file: default.conf
server {
    listen 80;
    location /api/ {
        proxy_pass http://orders.orders.svc:8080/;
        proxy_set_header Authorization "Basic <%basic%>";
        proxy_set_header X-Request-ID $request_id;
    }
    location /geo/ {
        proxy_set_header X-Api-Key <%base62 32%>;
        proxy_pass https://geo.partner.example/v1/;
    }
    location /private/ {
        auth_basic "Restricted";
        auth_basic_user_file /etc/nginx/.htpasswd;
        secure_link_md5 "$secure_link_expires$uri <%dull%>";
    }
    ssl_certificate_key /etc/tls/tls.key;
}
"""
