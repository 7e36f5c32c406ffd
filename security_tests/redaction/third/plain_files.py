"""Files without any secret; every line is a look-alike of its own. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
=== external values | values.yaml
auth:
  existingSecret: keycloak-admin-credentials
  existingSecretPasswordKey: admin-password
  passwordSecretRef: {name: shop-db, key: password}
  password: ""
  rootPassword: null
  replicationPassword: ~
  usePasswordFiles: true
  passwordUpdateJob: {enabled: false}
  token: "{{ .Values.global.token }}"
  secretKey: ${SECRET_KEY}
  clientSecret: $(CLIENT_SECRET)
  apiKey: <your-api-key>
  webhookSecret: REPLACE_ME
  adminPassword: "********"
  encryptionKey: "[REDACTED]"
  jwtSecretFrom: {secretKeyRef: {name: jwt, key: signing-key}}
  tokenExpirationSeconds: 3600
  passwordMinLength: 14
  passwordHashAlgorithm: argon2id
  tokenAudience: https://kubernetes.default.svc
  credentialsFile: /var/run/secrets/db/credentials.json
image: {repository: registry.example.com/token-service, tag: 1.14.2-<=hex 7=>, digest: "sha256:<=hex 64=>"}
podAnnotations:
  checksum/secret: <=hex 64=>
  checksum/config: <=hex 64=>
  rollme: <=b62 5=>
=== spring references | application.yml
spring:
  datasource:
    password: ${DB_PASSWORD}
    url: jdbc:postgresql://db:5432/shop?currentSchema=token&sslmode=require
  cloud.vault: {authentication: KUBERNETES, kubernetes: {role: shop, service-account-token-file: /var/run/secrets/token}}
  config.import: vault://secret/shop/credentials
  jackson.property-naming-strategy: SNAKE_CASE
jasypt.encryptor.password: ${JASYPT_PASSWORD:}
jwt.public-key: classpath:keys/public.pem
security.filter.order: 5
login.password-reset.url: https://app.example.com/password/reset
logging.level.org.springframework.security.authentication: DEBUG
cipher.password: '{cipher}<=hex 96=>'
=== sops | secrets.enc.yaml
db:
    password: ENC[AES256_GCM,data:<=b64 12=>,iv:<=b64 32=>,tag:<=b64 16=>,type:str]
    user: app
sops:
    kms: []
    age:
        - recipient: age1<=lower 58=>
    lastmodified: "2026-03-04T05:06:07Z"
    mac: ENC[AES256_GCM,data:<=b64 64=>,iv:<=b64 32=>,tag:<=b64 16=>,type:str]
    pgp: []
    unencrypted_suffix: _unencrypted
    version: 3.8.1
=== sealed | sealed.yaml
kind: SealedSecret
spec:
  encryptedData:
    password: AgB<=b64 240=>
    api-token: AgA<=b64 240=>
  template: {metadata: {name: shop-db-credentials}, type: Opaque}
=== login.ts | login.ts
export interface Credentials { username: string; password: string; otp?: string }
const token = await this.tokenService.refreshToken(refreshToken);
if (!password || password.length < 8) throw new Error('Password too short');
const secret = await secretsManager.getSecretValue({ SecretId: 'prod/shop/db' }).promise();
const apiKey = process.env.API_KEY ?? '';
headers.set('Authorization', `Bearer ${accessToken}`);
password: Joi.string().min(8).max(72).required(),
const { password: _omit, ...safeUser } = user;
localStorage.removeItem('access_token');
=== handler.go | handler.go
password := os.Getenv("DB_PASSWORD")
token, err := jwt.Parse(raw, keyFunc)
secret, err := client.CoreV1().Secrets(ns).Get(ctx, "shop-db", metav1.GetOptions{})
dsn := fmt.Sprintf("%s:%s@tcp(%s:3306)/%s", user, password, host, name)
return nil, errors.New("token: signature is invalid")
req.Header.Set("Authorization", "Bearer "+token)
if subtle.ConstantTimeCompare([]byte(got), []byte(want)) != 1 {
flag.StringVar(&opts.Password, "password", "", "password of the database")
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount/token"
=== views.py | views.py
password = forms.CharField(widget=forms.PasswordInput, max_length=128)
token = secrets.token_urlsafe(32)
user.set_password(form.cleaned_data["password"])
api_key = config.get("api_key")
SECRET_KEY = os.environ["SECRET_KEY"]
conn = psycopg.connect(host=host, user=user, password=password)
raise PermissionDenied("invalid token for user %s" % user.pk)
assert hashlib.sha256(data).hexdigest() == "<=hex 64=>"
password: str | None = Field(default=None, repr=False)
API_TOKEN: SecretStr = SecretStr("")
=== Login.java | Login.java
private final PasswordEncoder passwordEncoder;
String token = request.getHeader("X-Auth-Token");
.password(env.getProperty("db.password"))
public static final String PASSWORD_PARAMETER = "password";
public static final String TOKEN_HEADER = "X-CSRF-TOKEN";
if (credentials.getPassword() == null) throw new BadCredentialsException("Empty password");
@Schema(description = "The password of the user", example = "********")
=== deploy.sh | deploy.sh
DB_PASSWORD=$(kubectl get secret shop-db -o jsonpath='{.data.password}' | base64 -d)
export VAULT_TOKEN="$(vault print token)"
: "${API_TOKEN:?API_TOKEN must be set}"
psql "postgres://$DB_USER:$DB_PASSWORD@db/shop" -f schema.sql
curl -H "Authorization: Bearer ${TOKEN}" "$API/v1/jobs"
mysql -u root -p"$MYSQL_ROOT_PASSWORD" -e 'show databases'
docker login -u "$CI_REGISTRY_USER" --password-stdin "$CI_REGISTRY" <<< "$CI_REGISTRY_PASSWORD"
read -rsp 'Password: ' PW
openssl rand -hex 32 > /run/secrets/key
echo "usage: $0 --user USER --password-file FILE"
sha256sum -c <<< "<=hex 64=>  tool.tar.gz"
""")
