"""ConfigMaps of the data and ML platform."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== airflow.cfg
[core]
executor = KubernetesExecutor
fernet_key = <%fernet%>
[database]
sql_alchemy_conn = postgresql+psycopg2://airflow:<%dull%>@airflow-db/airflow
[webserver]
secret_key = <%hex 32%>
[celery]
flower_basic_auth = ops:<%dull%>
[smtp]
smtp_password = <%human%>
smtp_mail_from = airflow@nordlicht.example
=== profiles.yml
nordlicht:
  target: prod
  outputs:
    prod:
      type: snowflake
      account: ab12345.eu-central-1
      user: DBT
      password: <%strong%>
      private_key_passphrase: <%dull%>
      threads: 8
    legacy:
      type: postgres
      host: dwh-legacy
      pass: <%dull%>
=== debezium connector
file: orders-connector.json
{
  "name": "orders-cdc",
  "config": {
    "connector.class": "io.debezium.connector.mysql.MySqlConnector",
    "database.hostname": "mysql-primary",
    "database.user": "debezium",
    "database.password": "<%dull%>",
    "schema.history.internal.consumer.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"cdc\" password=\"<%base62 20%>\";",
    "key.converter.schemas.enable": "false",
    "message.key.columns": "orders.id"
  }
}
=== spark-defaults.conf
spark.master                     k8s://https://kubernetes.default.svc
spark.hadoop.fs.s3a.access.key   <~aws id~>
spark.hadoop.fs.s3a.secret.key   <%aws secret%>
spark.authenticate.secret        <%hex 32%>
spark.ssl.keyPassword            <%dull%>
spark.eventLog.dir               s3a://nordlicht-spark/events
=== hive-site.xml
<configuration>
  <property><name>javax.jdo.option.ConnectionURL</name><value>jdbc:postgresql://hive-db/metastore</value></property>
  <property><name>javax.jdo.option.ConnectionUserName</name><value>hive</value></property>
  <property><name>javax.jdo.option.ConnectionPassword</name><value><%dull%></value></property>
  <property><name>hive.metastore.sasl.enabled</name><value>false</value></property>
</configuration>
=== core-site.xml
<configuration>
  <property>
    <name>fs.s3a.access.key</name>
    <value><~aws id~></value>
  </property>
  <property>
    <name>fs.s3a.secret.key</name>
    <value><%aws secret%></value>
  </property>
  <property>
    <name>fs.azure.account.key.nordlichtdwh.blob.core.windows.net</name>
    <value><%azure%></value>
  </property>
</configuration>
=== trino catalog
file: orders.properties
connector.name=postgresql
connection-url=jdbc:postgresql://orders-ro:5432/orders
connection-user=trino
connection-password=<%dull%>
internal-communication.shared-secret=<%base64 64%>
=== flink-conf.yaml
jobmanager.rpc.address: flink-jobmanager
s3.access-key: <~aws id~>
s3.secret-key: <%aws secret%>
security.ssl.rest.keystore-password: <%dull%>
state.checkpoints.dir: s3://nordlicht-flink/checkpoints
=== litellm config
file: config.yaml
model_list:
  - model_name: gpt-4o
    litellm_params:
      model: azure/gpt-4o
      api_base: https://nordlicht.openai.azure.com/
      api_key: <%hex 32%>
      max_tokens: 4096
  - model_name: mistral
    litellm_params:
      api_key: os.environ/MISTRAL_API_KEY
general_settings:
  master_key: sk-<%base62 24%>
  database_url: postgresql://litellm:<%dull%>@litellm-db/litellm
=== mlflow basic_auth.ini
file: basic_auth.ini
[mlflow]
default_permission = READ
database_uri = postgresql://mlflow:<%dull%>@mlflow-db/auth
admin_username = admin
admin_password = <%dull%>
=== feature_store.yaml
project: pricing
registry: s3://nordlicht-ml/feast/registry.db
online_store:
  type: redis
  connection_string: redis.ml.svc:6379,password=<%base62 20%>
offline_store:
  type: snowflake.offline
  user: FEAST
  password: <%strong%>
=== dagster.yaml
storage:
  postgres:
    postgres_db:
      username: dagster
      password: <%dull%>
      hostname: dagster-db
run_launcher:
  config:
    image_pull_policy: Always
=== airbyte connection | unusual
file: source-shopify.json
{"shop": "nordlicht", "credentials": {"auth_method": "api_password", "api_password": "shpat_<%hex 32%>"}, "start_date": "2024-01-01",
 "tunnel_method": {"tunnel_method": "SSH_KEY_AUTH", "tunnel_user": "airbyte", "ssh_key": "<%ssh|json%>"}}
=== variables.json | unusual
{"dwh_schema": "mart", "sap_rfc_password": "<%human%>", "dhl_token": "<%jwt%>", "sftp": "sftp://nordlicht:<%dull%>@sftp.partner.example/out", "batch_token_count": "512"}
=== notebook | unusual
file: explore.ipynb
{"cells": [
 {"cell_type": "code", "execution_count": 3, "source": ["import snowflake.connector\n", "con = snowflake.connector.connect(user='JANA', password='<%human%>', account='ab12345')\n"]},
 {"cell_type": "code", "source": ["from huggingface_hub import login\n", "login('<%hf%>')\n"]},
 {"cell_type": "markdown", "source": ["Tokens per document: mean 412, p95 1980\n"]}], "nbformat": 4}
=== odbc.ini
[DWH]
Driver = /opt/snowflake/libSnowflake.so
Server = ab12345.snowflakecomputing.com
UID = REPORTING
PWD = <%strong%>
=== kettle.properties | unusual
DWH_HOST=dwh-legacy
DWH_USER=etl
DWH_PASSWORD=<%dull%>
MAIL_PASS=Encrypted <~hex 32~>
SAP_LOGIN=RFC_DWH/<%human%>
=== cassandra cqlshrc
file: cqlshrc
[authentication]
username = iot
password = <%dull%>
[connection]
hostname = cassandra-0
=== s3cfg
file: .s3cfg
[default]
access_key = <~aws id~>
secret_key = <%aws secret%>
gpg_passphrase = <%dull%>
host_base = s3.nordlicht.example
signature_v2 = False
=== scoring service
file: service.py
import requests

API = "https://scoring.partner.example/v2"
HEADERS = {"Authorization": "Bearer <%base62 40%>", "Accept": "application/json"}


def score(payload):
    auth = requests.auth.HTTPBasicAuth("nordlicht", "<%dull%>")
    return requests.post(API, json=payload, headers=HEADERS, auth=auth, timeout=10)
"""
