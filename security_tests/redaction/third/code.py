"""Scripts and programs in ConfigMaps, and texts inside texts. The word after | is the file's name."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["FILES"]

FILES: Final = markup.sections(r"""
=== backup script | backup.sh
#!/usr/bin/env bash
set -euo pipefail
PGPASSWORD='<%odd%>' pg_dump -h db -U app shop > /tmp/d.sql
mysqldump -uroot -p<%dull%> shop
mysql --user=root --password="<%weak de%>" -e 'select 1'
redis-cli -h r -a <%weak ja%> ping
curl -fsS -u "backup:<%strong%>" -T /tmp/d.sql https://dav.example.com/
curl -H "PRIVATE-TOKEN: <%b62 20 glpat-%>" https://git.example.com/api/v4/projects
<#echo "no password given" >&2; exit 1#>
mc alias set s3 https://minio minio <%b62 24%>
lftp -u shop,<%dull%> sftp://files.example.com
sshpass -p '<%sentence%>' ssh root@10.0.0.9 uptime
echo <%dull%> | sudo -S systemctl restart app
<#TOKEN=$(cat /var/run/secrets/kubernetes.io/serviceaccount/token)#>
openssl pkcs12 -export -in a.pem -passout pass:<%dull%> -out a.p12
keytool -importkeystore -storepass <%weak en%> -noprompt
zip -P <%dull%> out.zip d.sql; 7z a -p<%b62 12%> out.7z d.sql
gpg --batch --passphrase '<%phrase%>' -c d.sql
wget --http-user=ops --http-password=<%dull%> https://intern.example.com/x
=== heredoc script | setup.sh
cat > /etc/app.conf <<EOF
user = app
kennwort = <%weak de%>
<#listen = ${LISTEN:-0.0.0.0}#>
EOF
htpasswd -bc /etc/nginx/.htpasswd ops <%weak pt%>
smbclient //nas/share -U 'svc%<%strong%>' -c ls
ldapsearch -x -D cn=admin,dc=acme -w <%odd|sq%> -b dc=acme
ipmitool -I lanplus -H bmc -U ADMIN -P <%dull%> power status
docker login -u ci -p <%b62 40%> registry.example.com
helm registry login r.example.com -u ci --password <%strong%>
vault login <%b62 24 hvs.%>
vault kv put secret/shop db=<%dull%>
chpasswd <<< "deploy:<%weak fr%>"
az login --service-principal -u <=uuid=> -p <%b62 37%> --tenant <=uuid=>
kubectl create secret generic db --from-literal=pw=<%strong%>
kubectl create secret docker-registry r --docker-password=<%dull%>
snmpwalk -v3 -u ops -A <%dull%> -X <%dull%> sw1
mount -t cifs //nas/x /mnt -o username=svc,password=<%weak es%>,vers=3.0
<#ssh-keygen -y -f ~/.ssh/id_rsa > id_rsa.pub#>
=== settings.py | settings.py
SECRET_KEY = "<%b62 50 django-insecure-%>"
DATABASES = {"default": {"ENGINE": "django.db.backends.postgresql", "PASSWORD": "<%odd%>", "HOST": "db"}}
<#AUTH_PASSWORD_VALIDATORS = [{"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"}]#>
SOCIAL_AUTH_GITHUB_SECRET = '<%hex 40%>'
boto3.client("s3", aws_secret_access_key="<%b64 30%>")
<#api_key = os.environ["API_KEY"]#>
requests.get(url, auth=("ops", "<%weak de%>"))
engine = create_engine(URL.create("postgresql", username="app", password="<%strong%>", host="db"))
<#SESSION_COOKIE_SECURE = True#>
FERNET = Fernet(b"<%url64 32%>=")
headers = {"X-Auth": "<%hex 32%>", <#"Accept": "application/json"#>}
mot_de_passe = "<%weak fr%>"
paramiko_client.connect("sftp", 22, "svc", "<%strong%>")
=== config.js | config.js
module.exports = {
  db: { user: 'app', pass: '<%odd%>', port: 5432 },
  session: { secret: `<%phrase%>`, resave: false },
  <#tokenExpiry: '15m',#>
  smtp: { auth: { user: 'x@example.com', pass: "<%weak es%>" } },
  jwtSecret: process.env.JWT_SECRET || '<%b62 32%>',
  firebase: { apiKey: '<~b62 35 AIzaSy~>', <#appId: '1:123456789012:web:<=hex 20=>'#> },
};
<#const token = await getToken({ audience });#>
axios.defaults.headers.common['Authorization'] = 'Bearer <%b62 40%>';
new Redis(6379, 'redis', { password: '<%dull%>' });
=== database.yml | database.yml
production:
  adapter: postgresql
  password: <%weak pt%>
  url: <#<%= ENV['DATABASE_URL'] %>#>
=== ruby and perl | init.rb
Sidekiq::Web.use(Rack::Auth::Basic) { |u, p| u == "ops" && p == "<%weak en%>" }
config.secret_key = '<%hex 128%>'
DB = Sequel.connect(adapter: 'mysql2', user: 'app', :password => '<%odd%>')
my $dbh = DBI->connect("dbi:mysql:shop", "root", "<%dull%>");
<#params.require(:user).permit(:password, :password_confirmation)#>
=== go java csharp | Config.java
private static final String PASSWORD = "<%strong%>";
DriverManager.getConnection("jdbc:db2://h:50000/S", "db2inst1", "<%weak en%>");
<#@JsonProperty("password") private String password;#>
props.put("mail.smtp.password", "<%dull%>");
cfg := mysql.Config{User: "root", Passwd: "<%weak de%>", Net: "tcp"}
var cs = "Data Source=sql;Initial Catalog=S;User=sa;Pwd=<%strong%>;";
new NetworkCredential("svc", "<%odd%>", "ACME");
<#throw new InvalidPasswordException("Password must not be empty");#>
System.setProperty("javax.net.ssl.keyStorePassword", "<%dull%>");
byte[] key = Base64.getDecoder().decode("<%b64 32%>");
=== powershell and cmd | run.ps1
$pw = ConvertTo-SecureString "<%weak en%>" -AsPlainText -Force
net use Z: \\nas\share /user:ACME\svc <%dull%>
sqlcmd -S sql -U sa -P <%odd%> -Q "select 1"
<#$cred = Get-Credential -Message "Enter your password"#>
set DB_PASS=<%dull%>
schtasks /create /tn b /ru ACME\svc /rp <%strong%>
=== groovy and jcasc | jenkins.yaml
jenkins:
  securityRealm:
    local:
      users: [{id: admin, password: "<%weak fr%>"}]
credentials:
  system:
    domainCredentials:
    - credentials:
      - usernamePassword: {id: <#nexus-deploy#>, username: ci, password: "<%dull%>"}
      - string: {id: <#sonar-token#>, secret: "<%hex 40%>"}
      - basicSSHUserPrivateKey:
          id: <#git#>
          privateKeySource:
            directEntry:
              privateKey: |
                <%rsa|indent8%>
withCredentials([string(credentialsId: '<#deploy-token#>', variable: 'TOKEN')]) {}
=== xml of app servers | server.xml
<Resource name="jdbc/shop" username="app" password="<%odd|xml%>" url="jdbc:mysql://db/shop"/>
<Connector port="8443"><SSLHostConfig><Certificate certificateKeystoreFile="<#conf/keystore.jks#>" certificateKeystorePassword="<%dull%>"/></SSLHostConfig></Connector>
<user username="tomcat" password="<%weak en%>" roles="<#manager-gui,password-admin#>"/>
<property name="hibernate.connection.password"><%strong%></property>
<entry key="senha"><%weak pt%></entry>
<bean><property name="password" value="<%dull%>"/></bean>
<add key="ApiSecret" value="<%b62 32%>" /><add name="Db" connectionString="Server=s;Uid=a;Pwd=<%weak es%>;" />
<wsse:Password Type="PasswordText"><%dull%></wsse:Password>
=== doubly encoded | bundle.json
{"config":"<json{{"db":{"password":"<%strong%>","<#pool#>":5}}}json>","deep":"<json{{"inner":"<json{{"apiToken":"<%b62 32%>","<#expires#>":3600}}json>"}}json>"}
{"env":"<b64{DB_PASSWORD=<%odd%>
<#DB_HOST=pg.shop.svc#>
}b64>","zipped":"<gz{smtp:
  password: <%weak de%>
  <#host: smtp.example.com#>
}gz>"}
{"query":"<url{user=app&password=<%odd%>&<#theme=dark#>}url>","xml":"<xml{<cred pass="<%strong%>"/>}xml>"}
{"b64twice":"<b64{<b64{{"auths":{"r.example.com":{"username":"ci","password":"<%strong%>"}}}}b64>}b64>"}
=== cloud-init | user-data
#cloud-config
chpasswd:
  list: |
    root:<%weak de%>
    ubuntu:<%dull%>
users:
- name: ops
  plain_text_passwd: <%weak en%>
  <#lock_passwd: false#>
  ssh_authorized_keys: [<#ssh-rsa AAAAB3NzaC1yc2E<=b64 90=> ops@example#>]
write_files:
- path: /etc/app.env
  encoding: b64
  content: <b64{API_TOKEN=<%b62 40%>
}b64>
=== notes | README.md
<#Rotate the password every 90 days; see the runbook "Secrets and tokens".#>
Login: admin / <%weak de%>
The password for the staging shop is `<%dull%>`.
Zugang SFTP: Benutzer shop, Passwort <%weak de%>
pw: <%dull%> (please do not share)
Le mot de passe du routeur : <%weak fr%>
PIN for the alarm: <%pin%>
root pw = "<%phrase%>"
=== firebase and pem in json | sa.json
{"type": "service_account", "project_id": "shop", "private_key_id": "<~hex 40~>", "private_key": "<%pkcs8|esc%>\n", "client_id": "<#<=digits 21=>#>", "token_uri": "<#https://oauth2.googleapis.com/token#>"}
=== pgp and age | keys.asc
<%pgp%>
<#age1<=lower 58=>#>
=== helm release in a ConfigMap | release
<gz{{"name":"shop","version":7,"namespace":"prod","config":{"auth":{"adminPassword":"<%weak de%>","existingSecret":"<#shop-auth#>"},"smtp":{"kennwort":"<%strong%>"}},"manifest":"<json{apiVersion: v1
kind: Secret
metadata:
  name: <#shop-mail-credentials#>
data:
  password: <b64{<%strong%>}b64>
---
kind: Deployment
spec:
  env:
  - name: REDIS_URL
    value: redis://:<%dull%>@redis:6379
  <#- name: TOKEN_TTL#>
}json>"}}gz>
=== helm notes | NOTES.txt
<#Get the password by running:#>
<#  kubectl get secret shop -o jsonpath="{.data.password}" | base64 --decode#>
Username: admin
Password: <%b62 10%>
Root token => <%b62 24 hvs.%>
""")
