"""Command lines, arguments and probes of containers. Arguments stand one in a line."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["COMMANDS", "PROBES"]

COMMANDS: Final = markup.sections(r"""
=== exporter
--web.listen-address=:9187
--extend.query-path=/etc/q.yaml
--data-source=postgresql://mon:<%odd|url%>@pg:5432/postgres
<#--web.config.file=/etc/web-secrets.yml#>
=== oauth2-proxy
--client-secret=<%b62 32%>
--cookie-secret=<%b64 16%>
<#--cookie-name=_oauth2_proxy#>
<#--pass-access-token=true#>
<#--cookie-secure=true#>
=== flag and value
--db-pass
<%strong%>
--token-ttl
<#3600#>
-p
<%dull%>
--password
<%phrase%>
<#--password-file#>
<#/run/secrets/pw#>
=== shell
sh
-c
mysqladmin ping -uroot -p"<%odd%>" && exec app --admin-pw '<%weak de%>' --port 80
=== java
-Dspring.datasource.password=<%odd%>
-Djavax.net.ssl.keyStorePassword=<%dull%>
<#-Djavax.net.ssl.keyStore=/certs/keystore.p12#>
-Dsenha.banco=<%weak pt%>
<#-Dcom.sun.management.jmxremote.password.file=/etc/jmx.password#>
=== redis
redis-server
--requirepass
<%b62 12%>
--masterauth
<%b62 12%>
<#--appendonly#>
=== mongosh
mongosh
--eval
db.getSiblingDB("admin").auth("root", "<%weak en%>")
=== sql migration
migrate
-database
mysql://root:<%strong%>@tcp(db:3306)/shop
<#-path=/migrations#>
=== curl in an init container
sh
-ec
until curl -sf -H 'Authorization: ApiKey <%b64 45%>' https://es:9200/_cat/health; do sleep 1; done
=== telegraf and others
--mqtt-password=<%weak fr%>
--secret-id=<%uuid%>
--license=<~dashed~>
--pin=<%pin%>
<#--secret-name=tls-wildcard#>
<#--service-account-key-file=/etc/kubernetes/pki/sa.pub#>
<#--token-auth-file=/etc/kubernetes/tokens.csv#>
=== python one-liner
python
-c
import smtplib; s = smtplib.SMTP('mx'); s.login('shop', '<%weak es%>')
=== mqtt
mosquitto_pub
-u
sensor
-P
<%dull%>
-t
<#password/reset#>
=== git sync
--repo=https://sync:<%b62 36 ghp_%>@github.com/acme/dags
<#--rev=<=hex 40=>#>
<#--max-failures=3#>
=== ngrok and tunnels
--authtoken=<%b62 49%>
tunnel
run
--token
<%b64 120 eyJhIjoi%>
""")

PROBES: Final = markup.sections(r"""
=== mysql probe
mysqladmin ping -h 127.0.0.1 -u root -p<%dull%>
=== redis probe
redis-cli --no-auth-warning -a '<%odd%>' ping | grep PONG
=== postgres probe
PGPASSWORD=<%weak de%> psql -U postgres -c 'select 1'
=== http probe
wget -qO- --header 'X-Health-Token: <%b62 32%>' http://127.0.0.1:8080/healthz
=== rabbit probe
curl -s http://guest2:<%strong%>@127.0.0.1:15672/api/healthchecks/node
=== elastic probe
curl -k -u elastic:<%b62 20%> https://localhost:9200/_cluster/health?wait_for_status=yellow
=== mongo probe
mongosh -u root -p <%weak pt%> --quiet --eval "db.adminCommand('ping')"
=== clickhouse probe
clickhouse-client --user default --password "<%quote|json%>" --query 'SELECT 1'
""")
