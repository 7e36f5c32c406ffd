"""Args, commands and probes as people write them on call."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== redis server
> --appendonly yes
> --requirepass <%dull%>
> --masterauth <%dull%>
> --maxmemory-policy allkeys-lru
? redis-cli -a <%dull%> --no-auth-warning ping | grep PONG
=== mysql
? mysqladmin ping -h 127.0.0.1 -uroot -p<%dull%>
> --default-authentication-plugin=mysql_native_password
> --max_connections=400
=== orders jar
> --spring.datasource.url=jdbc:mysql://mysql:3306/orders?useSSL=false
> --spring.datasource.password=<%strong%>
> --server.port=8080
> --jasypt.encryptor.password=<%dull%>
=== pg backup
$ PGPASSWORD='<%strong%>' pg_dump -h orders-db -U backup -Fc orders | gzip > /backup/orders-$(date +%F).dump.gz && mc cp /backup/*.gz backup/orders/
=== mongo backup
$ mongodump --uri="mongodb://backup:<%base62 16%>@mongo.orders:27017/?authSource=admin" --archive=/backup/mongo.gz --gzip
=== healthcheck curl
? curl -sf -u admin:<%dull%> http://localhost:9200/_cluster/health?wait_for_status=yellow
=== elastic header
? curl -fsS -H "Authorization: ApiKey <%base64 42%>" https://localhost:9200/_cat/health
=== oauth proxy args
> --provider=oidc
> --client-id=kibana
> --client-secret=<%base62 32%>
> --cookie-secret=<%base64 24%>
> --cookie-expire=12h
> --oidc-issuer-url=https://login.nordlicht.example/realms/ops
> --pass-access-token=true
> --skip-auth-regex=^/health
=== registry login
$ echo <%base62 24%> | docker login -u ci --password-stdin registry.nordlicht.example
=== helm login
$ helm registry login registry.nordlicht.example -u robot\$ci -p <%base62 32%> && helm push chart-1.4.2.tgz oci://registry.nordlicht.example/charts
=== git sync
> --repo=https://git-sync:<%gitlab%>@git.nordlicht.example/data/dags.git
> --ref=main
> --depth=1
> --period=60s
=== azure job
$ az login --service-principal -u <=uuid=> -p <%azure secret%> --tenant <=uuid=> && az storage blob sync -c exports -s /data
=== sql server job
$ /opt/mssql-tools/bin/sqlcmd -S sql-prod.nordlicht.example -U sa -P '<%human%>' -d Billing -i /scripts/close-month.sql
=== oracle job
$ sqlplus -s apps/<%dull%>@EBSPRD @/scripts/refresh_mv.sql
=== keycloak init
$ /opt/keycloak/bin/kcadm.sh config credentials --server http://localhost:8080 --realm master --user admin --password <%dull%> && /opt/keycloak/bin/kcadm.sh get realms
=== sftp fetch | unusual
$ sshpass -p '<%dull%>' sftp -oStrictHostKeyChecking=no nordlicht@sftp.partner.example:/out/ /data/in
=== lftp | unusual
$ lftp -u nordlicht,<%dull%> -e "mirror --newer-than=now-1day /out /data; quit" ftps://edi.partner.example
=== smb mount | unusual
$ mount -t cifs //fs01.nordlicht.example/scans /mnt/scans -o username=svc-scan,password=<%human%>,domain=NORDLICHT,vers=3.0
=== ldap probe | unusual
? ldapsearch -x -H ldap://localhost -D "cn=admin,dc=nordlicht,dc=example" -w <%dull%> -b dc=nordlicht,dc=example -s base
=== keystore init | unusual
$ openssl pkcs12 -export -in /tls/tls.crt -inkey /tls/tls.key -out /ks/keystore.p12 -name app -passout pass:<%dull%> && keytool -importkeystore -srckeystore /ks/keystore.p12 -deststorepass <%dull%> -destkeystore /ks/app.jks
=== wal push | unusual
$ restic -r s3:https://s3.nordlicht.example/wal --password-command 'echo <%phrase%>' backup /wal
=== influx write
$ influx write --host http://influx:8086 --org nordlicht --bucket iot --token <%base64 64%> -f /data/points.lp
=== etcd defrag
$ etcdctl --endpoints=https://127.0.0.1:2379 --user root:<%dull%> defrag
=== clickhouse load
$ clickhouse-client --host ch-0 --user loader --password '<%strong%>' --query "INSERT INTO events FORMAT CSV" < /data/events.csv
=== spark
> --class
> com.nordlicht.dwh.Daily
> --conf spark.hadoop.fs.s3a.access.key=<~aws id~>
> --conf spark.hadoop.fs.s3a.secret.key=<%aws secret%>
> --conf spark.executor.memory=4g
=== celery flower
> --basic_auth=ops:<%dull%>
> --broker=amqp://flower:<%dull%>@rabbitmq:5672/parcel
> --url_prefix=flower
=== split flags | unusual
> --admin-user
> admin
> --admin-password
> <%dull%>
> --db-pass
> <%strong%>
> --token-ttl
> 3600s
=== jmx exporter | unusual
$ java -Dcom.sun.management.jmxremote.password.file=/etc/jmx.pw -Ddb.pass=<%dull%> -jar /app/exporter.jar --key-password "<%dull%>" 9404 /etc/jmx.yml
=== expect | unusual
$ kinit svc-etl@NORDLICHT.EXAMPLE <<< '<%human%>' && hdfs dfs -ls /landing
=== snmp | unusual
$ snmpwalk -v3 -l authPriv -u monitor -a SHA -A <%dull%> -x AES -X <%dull%> ups01.nordlicht.example 1.3.6.1.2.1.33
=== user creation
$ psql -h db -U postgres -c "CREATE ROLE reporting LOGIN PASSWORD '<%strong%>'" && psql -h db -U postgres -c "GRANT SELECT ON ALL TABLES IN SCHEMA public TO reporting"
=== rabbit user
$ rabbitmqctl add_user shipping <%dull%> && rabbitmqctl set_permissions -p / shipping ".*" ".*" ".*"
=== webhook post
$ curl -X POST -H 'Content-type: application/json' --data '{"text":"nightly import done"}' https://hooks.slack.com/services/<%slack path%>
=== gitlab api
$ curl --header "PRIVATE-TOKEN: <%gitlab%>" "https://git.nordlicht.example/api/v4/projects/42/trigger/pipeline"
=== vault login
$ vault write auth/approle/login role_id=<=uuid=> secret_id=<%uuid%>
=== ansible pull | unusual
$ ansible-pull -U https://git.nordlicht.example/ops/base.git -e "ansible_become_pass=<%human%> env=prod" site.yml
"""
