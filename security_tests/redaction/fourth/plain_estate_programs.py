"""More ConfigMaps without a secret: programs, templates, pipelines; written after the first measurement, to have more to harm."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== estate typescript
file: session.ts
export interface Credentials { username: string; password: string; otp?: string }
export type Token = { accessToken: string; refreshToken: string; expiresAt: number };
const STORAGE_KEY = "nordlicht.session.v2";
const authHeader = (token: Token) => ({ Authorization: "Bearer " + token.accessToken });
if (!form.password || form.password.length < 12) errors.password = t("login.password.tooShort");
const { token, setToken } = useSession();
router.push({ name: "reset-password", query: { token: route.query.token } });
localStorage.removeItem(STORAGE_KEY);
export const passwordRules = [minLength(12), hasDigit, hasSymbol];
this.apiKey = options.apiKey ?? import.meta.env.VITE_API_KEY;
=== estate golang
file: auth.go
var ErrInvalidToken = errors.New("token is invalid")
const tokenHeader = "X-Auth-Token"
type Config struct { Password string `yaml:"password" json:"-"` }
token, err := jwt.Parse(raw, func(t *jwt.Token) (any, error) { return publicKey, nil })
password := os.Getenv("DB_PASSWORD")
dsn := fmt.Sprintf("postgres://%s:%s@%s/%s", user, password, host, name)
flag.StringVar(&cfg.PasswordFile, "password-file", "/run/secrets/password", "file with the password")
if subtle.ConstantTimeCompare([]byte(token), []byte(want)) != 1 { http.Error(w, "unauthorized", 401) }
secretName := types.NamespacedName{Name: tenant.Spec.SecretName, Namespace: tenant.Namespace}
req.Header.Set("Authorization", "Bearer "+token)
=== estate csharp
file: Startup.cs
var key = Encoding.UTF8.GetBytes(Configuration["Jwt:SigningKey"]);
options.Password.RequiredLength = 12;
options.Password.RequireNonAlphanumeric = true;
services.AddDbContext<BillingContext>(o => o.UseSqlServer(Configuration.GetConnectionString("Default")));
var token = await _tokens.GetAccessTokenAsync(new TokenRequestContext(scopes));
client.DefaultRequestHeaders.Authorization = new AuthenticationHeaderValue("Bearer", token.Token);
[assembly: InternalsVisibleTo("Billing.Tests, PublicKeyToken=null")]
if (string.IsNullOrEmpty(request.Password)) return BadRequest("Password is required.");
=== estate java
file: TokenService.java
private static final String TOKEN_HEADER = "X-Auth-Token";
@Value("${app.jwt.secret}") private String jwtSecret;
String password = env.getProperty("spring.datasource.password");
char[] keyPassword = System.getenv("KEY_PASSWORD").toCharArray();
PasswordEncoder encoder = new BCryptPasswordEncoder(12);
throw new BadCredentialsException("Bad credentials");
return Jwts.builder().setSubject(user.getLogin()).signWith(key, SignatureAlgorithm.HS256).compact();
log.info("token issued for user={} ttl={}", user.getId(), ttl);
keyStore.load(stream, keyPassword);
=== estate helm template
file: deployment.tpl
        - name: DB_PASSWORD
          valueFrom: {secretKeyRef: {name: {{ include "app.secretName" . }}, key: {{ .Values.auth.passwordKey }}}}
{{- if and .Values.auth.enabled (not .Values.auth.existingSecret) }}
  password: {{ .Values.auth.password | default (randAlphaNum 16) | b64enc | quote }}
  token: {{ lookup "v1" "Secret" .Release.Namespace "api-token" | dig "data" "token" "" }}
checksum/secret: {{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}
{{- fail "auth.password is required" }}
=== estate ansible
file: vars.yml
db_user: orders
db_password: "{{ vault_db_password }}"
api_token: "{{ lookup('env', 'API_TOKEN') }}"
keystore_password: "{{ lookup('community.hashi_vault.hashi_vault', 'secret=kv/data/ks:password') }}"
ssh_key_path: ~/.ssh/id_ed25519
become_method: sudo
token_cleanup_cron: "0 3 * * *"
password_hash_algorithm: sha512
=== estate terraform
file: main.tf
variable "db_password" { sensitive = true }
resource "random_password" "db" { length = 32 }
password = random_password.db.result
secret_id = aws_secretsmanager_secret.orders.id
kms_key_id = "arn:aws:kms:eu-central-1:123456789012:key/<=uuid=>"
token = data.vault_generic_secret.ci.data["token"]
ami = "ami-<=hex 17=>"
key_name = "ops-2024"
output "db_password" { value = var.db_password }
access_key = var.access_key
=== estate renovate
file: renovate.json
{"extends": ["config:recommended"], "dependencyDashboard": true, "hostRules": [{"matchHost": "git.nordlicht.example", "token": "{{ secrets.GITLAB_TOKEN }}"}],
 "packageRules": [{"matchPackageNames": ["password-validator", "jsonwebtoken"], "groupName": "auth"}], "lockFileMaintenance": {"enabled": true}}
=== estate actions
file: deploy.yml
on: {push: {branches: [main]}}
permissions: {id-token: write, contents: read}
      - uses: actions/checkout@<=git=>
      - uses: hashicorp/vault-action@<=git=>
        with: {url: "https://vault.iam.example", role: ci, secrets: "secret/data/ci npmToken | NPM_TOKEN"}
      - run: echo "${{ secrets.REGISTRY_PASSWORD }}" | docker login -u ci --password-stdin registry.nordlicht.example
        env: {GITHUB_TOKEN: "${{ secrets.GITHUB_TOKEN }}", CACHE_KEY: "${{ hashFiles('**/package-lock.json') }}"}
=== estate jenkinsfile
file: Jenkinsfile
withCredentials([usernamePassword(credentialsId: 'nexus', usernameVariable: 'USER', passwordVariable: 'PASS')]) {
  sh 'mvn deploy -Dnexus.user=$USER -Dnexus.pass=$PASS'
}
environment { SONAR_TOKEN = credentials('sonar-token') }
git credentialsId: 'git-deploy', url: 'https://git.nordlicht.example/orders/api.git'
archiveArtifacts artifacts: 'target/*.jar', fingerprint: true
=== estate apache
file: httpd.conf
AuthType Basic
AuthName "Restricted"
AuthUserFile /etc/httpd/htpasswd
Require valid-user
SSLCertificateKeyFile /etc/tls/tls.key
SSLPassPhraseDialog exec:/usr/local/bin/passphrase
RequestHeader set X-Forwarded-User %{REMOTE_USER}s
RequestHeader unset Authorization
SessionCryptoPassphraseFile /run/secrets/session
LogFormat "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\"" common
=== estate postgres
file: postgresql.conf
password_encryption = scram-sha-256
ssl_key_file = '/tls/tls.key'
ssl_passphrase_command = ''
authentication_timeout = 60s
shared_preload_libraries = 'pgaudit,pg_stat_statements'
primary_conninfo = 'host=orders-db-0 user=replicator passfile=/run/secrets/pgpass'
log_line_prefix = '%m [%p] %q%u@%d '
krb_server_keyfile = 'FILE:/etc/krb5.keytab'
=== estate ldap map
file: mapping.properties
ldap.user.search.filter=(&(objectClass=user)(sAMAccountName={0}))
ldap.user.dn.pattern=uid={0},ou=people,dc=nordlicht,dc=example
ldap.password.attribute=userPassword
ldap.group.key=memberOf
ldap.bind.password.file=/run/secrets/ldap
ldap.url=ldaps://ldap.nordlicht.example:636
ldap.referral=follow
=== estate edi
file: partners.yaml
partners:
  dhl: {gln: "<=digits 13=>", certificateFingerprint: "<=hex 40=>", as2Id: NORDLICHT-AS2, credentialsRef: dhl-sftp}
  gls: {gln: "<=digits 13=>", publicKeyId: "<=hex 16=>", endpoint: "https://api.gls.example/public/v1", tokenRef: gls-api}
  dpd: {gln: "<=digits 13=>", depot: "0176", secretName: dpd-login, passwordKey: password}
iban: DE<=digits 20=>
vatId: DE<=digits 9=>
=== estate ml
file: train.yaml
model: bert-base-german-cased
tokenizer: {max_length: 512, pad_token: "[PAD]", add_special_tokens: true}
hidden_size: 768
num_key_value_heads: 8
seed: 20260304
dataset: {path: s3://nordlicht-ml/data/claims-v7.parquet, sha256: <=sha256=>}
tokens_per_batch: 32768
wandb: {project: claims, run_id: <=lower 8=>, api_key_env: WANDB_API_KEY}
base_revision: <=git=>
=== estate tokenizer
file: special_tokens_map.json
{"cls_token": "[CLS]", "mask_token": "[MASK]", "pad_token": "[PAD]", "sep_token": "[SEP]", "unk_token": "[UNK]", "bos_token": {"content": "<s>", "lstrip": false}, "eos_token": "</s>", "additional_special_tokens": ["<|system|>", "<|user|>"]}
=== estate istio
file: mesh.yaml
defaultConfig:
  proxyMetadata: {ISTIO_META_DNS_CAPTURE: "true", CREDENTIAL_FETCHER_TYPE: ""}
  discoveryAddress: istiod.istio-system.svc:15012
trustDomain: cluster.local
caCertificates: []
certificates: []
extensionProviders:
  - {name: oauth2, envoyExtAuthzHttp: {service: oauth2-proxy.iam.svc.cluster.local, port: 4180, includeRequestHeadersInCheck: [authorization, cookie], headersToUpstreamOnAllow: [authorization, x-auth-request-access-token]}}
=== estate velero
file: notes.txt
Backups: every night at 3, kept 30 days, encrypted with the key of the KMS alias alias/velero.
Restore: velero restore create --from-backup nightly-20260304030012
The credentials are in the secret velero/cloud-credentials, key cloud.
Checksum of the last one: <=sha256=>
Who may restore: role ops-admin (login by SSO, no password).
Contact: ops@nordlicht.example, +49 40 471102
=== estate mails
file: reset.html
<p>Hallo {{ name }}, Sie haben ein neues Passwort angefordert.</p>
<a href="https://shop.nordlicht.example/reset?token={{ token }}">Passwort ändern</a>
<p>Der Link gilt 60 Minuten. Ihr Benutzername: {{ login }}</p>
<input type="password" name="password" placeholder="Neues Passwort" autocomplete="new-password" minlength="12">
<input type="hidden" name="csrf_token" value="{{ csrf_token }}">
<label for="password">Passwort:</label>
<img src="https://cdn.nordlicht.example/img/<=hex 32=>.png" alt="Schlüssel">
<script src="/js/app.js" integrity="sha384-<=base64 48=>" crossorigin="anonymous"></script>
=== estate crd
file: crd.yaml
            adminPassword: {type: string, description: "Password of the administrator. Use adminPasswordSecretRef instead."}
            adminPasswordSecretRef: {type: object, required: [name, key], properties: {name: {type: string}, key: {type: string}}}
            token: {type: string, minLength: 20, pattern: "^[A-Za-z0-9]+$"}
            apiKey: {type: string, x-kubernetes-validations: [{rule: "self.size() > 0", message: "apiKey must not be empty"}]}
            passwordPolicy: {type: string, enum: [strict, relaxed], default: strict}
            tls: {type: object, properties: {keySecret: {type: string}, certSecret: {type: string}}}
=== estate phpunit
file: fixtures.php
$this->assertSame('Bearer', $token->getType());
$request = $request->withHeader('Authorization', 'Bearer ' . $token);
'password' => Hash::make($data['password']),
'password' => ['required', 'string', 'min:12', 'confirmed'],
protected $hidden = ['password', 'remember_token', 'two_factor_secret'];
'guards' => ['api' => ['driver' => 'token', 'provider' => 'users', 'hash' => true]],
'passwords' => ['users' => ['provider' => 'users', 'table' => 'password_reset_tokens', 'expire' => 60, 'throttle' => 60]],
$table->string('api_token', 80)->unique()->nullable();
"""
