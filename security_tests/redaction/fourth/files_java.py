"""ConfigMaps of the JVM and .NET services."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

TEXT: Final = r"""
=== application.yml
server:
  port: 8080
  ssl:
    key-store: /etc/tls/keystore.p12
    key-store-password: <%dull%>
    key-alias: orders
spring:
  datasource:
    url: jdbc:postgresql://orders-db:5432/orders
    username: orders
    password: <%strong%>
    hikari:
      maximum-pool-size: 20
  kafka:
    bootstrap-servers: kafka-0.kafka:9093
    properties:
      security.protocol: SASL_SSL
      sasl.jaas.config: org.apache.kafka.common.security.plain.PlainLoginModule required username="orders" password="<%base62 20%>";
  mail:
    host: smtp.nordlicht.example
    username: orders@nordlicht.example
    password: "<%human%>"
  security:
    oauth2:
      resourceserver:
        jwt:
          issuer-uri: https://login.nordlicht.example/realms/nordlicht
app:
  token-validity-seconds: 86400
  jwt:
    secret: <%base64 32%>
    header: Authorization
    prefix: "Bearer "
management.endpoints.web.exposure.include: health,prometheus
=== application.properties
spring.datasource.url=jdbc:oracle:thin:freight/<%dull%>@//ora.nordlicht.example:1521/FRT
spring.datasource.driver-class-name=oracle.jdbc.OracleDriver
spring.ldap.password=<%human%>
spring.ldap.username=cn=svc,dc=nordlicht,dc=example
server.servlet.session.timeout=30m
encrypt.key=<%base62 32%>
eureka.client.serviceUrl.defaultZone=http://eureka:<%dull%>@eureka:8761/eureka/
azure.storage.account-key=<%azure%>
security.user.password=<%dull%>
logging.level.org.springframework.security=DEBUG
payment.api-key=<%base62 40%>
payment.api-key-header=X-Api-Key
=== appsettings.json
{
  "Logging": {"LogLevel": {"Default": "Information", "Microsoft.AspNetCore.Authentication": "Warning"}},
  "ConnectionStrings": {
    "Billing": "Data Source=sql-prod;Initial Catalog=Billing;User ID=billing;Password=<%strong%>;MultipleActiveResultSets=True",
    "Hangfire": "Server=sql-prod;Database=Hangfire;Uid=hangfire;Pwd=<%dull%>;"
  },
  "Smtp": {"Host": "smtp.nordlicht.example", "User": "billing", "Pass": "<%human%>"},
  "Authentication": {"Schemes": {"Bearer": {"ValidAudiences": ["https://billing.nordlicht.example"], "ValidIssuer": "dotnet-user-jwts"}}},
  "Datev": {
    "ClientId": "<=hex 32=>",
    "ClientSecret": "<%base62 40%>",
    "TokenEndpoint": "https://api.datev.example/token"
  },
  "AllowedHosts": "*"
}
=== web.config
<configuration>
  <connectionStrings>
    <add name="Crm" connectionString="Server=sql-legacy;Database=CRM;User Id=crm;Password=<%dull%>" providerName="System.Data.SqlClient" />
  </connectionStrings>
  <appSettings>
    <add key="SmsGatewayKey" value="<%base62 28%>" />
    <add key="ReportServerPassword" value="<%human%>" />
    <add key="SessionTimeoutMinutes" value="20" />
    <add key="PublicKeyToken" value="b77a5c561934e089" />
  </appSettings>
  <system.web>
    <machineKey validationKey="<%crockford 64%>" decryptionKey="<%hex 64%>" validation="SHA1" decryption="AES" />
    <authentication mode="Forms"><forms loginUrl="~/Account/Login" timeout="2880" /></authentication>
  </system.web>
</configuration>
=== context.xml
<Context>
  <Resource name="jdbc/freight" auth="Container" type="javax.sql.DataSource"
            username="freight" password="<%dull%>"
            driverClassName="oracle.jdbc.OracleDriver" url="jdbc:oracle:thin:@ora:1521:FRT" maxTotal="40"/>
  <Environment name="erpPassword" value="<%human%>" type="java.lang.String"/>
</Context>
=== tomcat-users.xml
<tomcat-users>
  <role rolename="manager-gui"/>
  <user username="deployer" password="<%dull%>" roles="manager-script"/>
</tomcat-users>
=== server.xml
<Connector port="8443" protocol="org.apache.coyote.http11.Http11NioProtocol" SSLEnabled="true">
  <SSLHostConfig>
    <Certificate certificateKeystoreFile="conf/localhost.jks" certificateKeystorePassword="<%dull%>" type="RSA" />
  </SSLHostConfig>
</Connector>
=== standalone.xml
<datasource jndi-name="java:jboss/datasources/WmsDS" pool-name="WmsDS">
  <connection-url>jdbc:db2://db2.nordlicht.example:50000/WMS</connection-url>
  <driver>db2</driver>
  <security>
    <user-name>wms</user-name>
    <password><%human%></password>
  </security>
</datasource>
=== settings.xml
<settings>
  <servers>
    <server>
      <id>nexus-releases</id>
      <username>ci</username>
      <password><%strong%></password>
    </server>
  </servers>
  <mirrors><mirror><id>nexus</id><url>https://nexus.nordlicht.example/repository/maven-public/</url><mirrorOf>*</mirrorOf></mirror></mirrors>
</settings>
=== hibernate.cfg.xml
<hibernate-configuration>
  <session-factory>
    <property name="hibernate.connection.url">jdbc:mysql://mysql/claims</property>
    <property name="hibernate.connection.username">claims</property>
    <property name="hibernate.connection.password"><%dull%></property>
    <property name="hibernate.dialect">org.hibernate.dialect.MySQL8Dialect</property>
  </session-factory>
</hibernate-configuration>
=== client.properties
bootstrap.servers=kafka-0.kafka:9093
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="etl" password="<%base62 24%>";
ssl.truststore.location=/etc/kafka/truststore.jks
ssl.truststore.password=<%dull%>
ssl.key.password=<%dull%>
=== jaas.conf
Client {
  org.apache.zookeeper.server.auth.DigestLoginModule required
  username="kafka"
  password="<%dull%>";
};
=== shiro.ini | unusual
[users]
admin = <%dull%>, admin
reader = <%dull%>, readonly
[roles]
admin = *
[urls]
/login = anon
=== logback.xml | unusual
<configuration>
  <appender name="SLACK" class="com.github.maricn.logback.SlackAppender">
    <webhookUri>https://hooks.slack.com/services/<%slack path%></webhookUri>
    <channel>#ops-alerts</channel>
  </appender>
  <appender name="SMTP" class="ch.qos.logback.classic.net.SMTPAppender">
    <smtpHost>smtp.nordlicht.example</smtpHost>
    <username>alerts@nordlicht.example</username>
    <password><%human%></password>
  </appender>
  <logger name="com.nordlicht.auth.TokenService" level="INFO"/>
</configuration>
=== flyway.conf
flyway.url=jdbc:postgresql://orders-db/orders
flyway.user=migrator
flyway.password=<%strong%>
flyway.placeholders.admin_password_hash=<~bcrypt~>
flyway.locations=classpath:db/migration
=== gradle.properties
nexusUsername=ci
nexusPassword=<%strong%>
signing.keyId=<=hex 8=>
signing.password=<%dull%>
signing.secretKeyRingFile=/root/.gnupg/secring.gpg
org.gradle.caching=true
=== sonar.properties
sonar.jdbc.url=jdbc:postgresql://sonar-db/sonar
sonar.jdbc.password=<%dull%>
sonar.web.systemPasscode=<%base62 24%>
ldap.bindPassword=<%human%>
sonar.auth.jwtBase64Hs256Secret=<%base64 32%>
=== nifi.properties | unusual
nifi.sensitive.props.key=<%base62 32%>
nifi.sensitive.props.algorithm=NIFI_PBKDF2_AES_GCM_256
nifi.security.keystorePasswd=<%base62 43%>
nifi.security.keyPasswd=<%base62 43%>
nifi.security.truststoreType=PKCS12
nifi.security.user.login.identity.provider=single-user-provider
=== camel routes | unusual
file: routes.xml
<routes xmlns="http://camel.apache.org/schema/spring">
  <route id="dhl-in">
    <from uri="sftp://dhl.partner.example:22/out?username=nordlicht&amp;password=RAW(<%dull%>)&amp;delete=true"/>
    <to uri="jms:queue:tracking?username=camel&amp;password=<%dull%>"/>
  </route>
</routes>
=== mule | unusual
file: mule-app.properties
http.listener.port=8081
salesforce.username=integration@nordlicht.example
salesforce.password=<%human%>
salesforce.securityToken=<%base62 24%>
secure.key=<%base62 16%>
sfdc.loginUrl=https://login.salesforce.com/services/Soap/u/58.0
=== weblogic boot | unusual
file: boot.properties
username=weblogic
password=<%human%>
"""
