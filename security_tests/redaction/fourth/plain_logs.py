"""Logs without a secret."""

from __future__ import annotations

from typing import Final

__all__ = ["TEXT"]

_LINES: Final = (
    'time=2026-03-04T05:06:07Z level=info msg="pulled image" image=registry.nordlicht.example/orders/api@sha256:<=sha256=> duration=1.2s',
    '{"level":"info","trace_id":"<=trace=>","span_id":"<=span=>","msg":"login ok","user_id":<=digits 6=>,"session_age":12}',
    '10.42.0.17 - - [04/Mar/2026:05:06:07 +0000] "GET /assets/app-<=hex 20=>.js HTTP/2.0" 200 48211 "https://shop.nordlicht.example/login" "Mozilla/5.0"',
    'I0304 05:06:07.123456       1 controller.go:114] "Reconciled secret" secret="orders/orders-credentials" resourceVersion="<=digits 9=>"',
    "2026-03-04 05:06:07.123  INFO [orders,<=trace=>,<=span=>] 1 --- [nio-8080-exec-3] c.n.o.auth.TokenFilter : token valid for user jana, expires in 287 s",
    "2026-03-04 05:06:07.123 DEBUG 1 --- [main] c.n.o.PasswordService : password of user <=uuid=> accepted (bcrypt, cost 12)",
    'level=warn msg="no password set, using key file" key_file=/run/secrets/id_rsa',
    "[2026-03-04 05:06:07 +0000] [17] [INFO] GET /api/keys/<=uuid=> 200 12ms request_id=<=ulid=>",
    "Successfully assigned orders/orders-api-<=suffix=> to ip-10-0-12-34.eu-central-1.compute.internal",
    "commit <=git=> (HEAD -> main) rotate secret of orders, see OPS-4711",
    'upload id=<=base62 40=> part=3 etag="<=md5=>" bucket=nordlicht-backup key=orders/2026/03/04/dump.gz',
    "auth: user=jana@nordlicht.example method=publickey fingerprint=SHA256:<=base62 43=> result=accepted",
    "GET https://api.nordlicht.example/v1/orders/<=uuid=>?page_token=&key=created_at 200",
    "cache miss key=orders:v3:<=md5=> ttl=300",
    "token bucket: 50 tokens/s, 17 left",
    "prompt_tokens=412 completion_tokens=88 total_tokens=500 model=mistral-7b",
    "WARN  password expires in 12 days for account svc-freight",
    "consumer group etl: member etl-1-<=uuid=> joined with session timeout 45000",
    "Warning: Using a password on the command line interface can be insecure.",
    "certificate CN=orders.nordlicht.example serial=<=hex 36=> notAfter=2026-06-02",
)

TEXT: Final = (
    "\n"
    + "\n".join(f"=== plain log {number}\n" + "\n".join(_LINES[number % 4 :: 2]) for number in range(8))
    + r"""
=== plain errors
FATAL: password authentication failed for user "orders"
ERROR: permission denied for table api_keys
Error from server (Forbidden): secrets "orders-credentials" is forbidden: User "system:serviceaccount:ci:deployer" cannot get resource "secrets" in API group "" in the namespace "orders"
x509: certificate signed by unknown authority (possibly because of "crypto/rsa: verification error")
jwt: token is expired by 3m12s
invalid_grant: Code not valid
NOAUTH Authentication required.
WRONGPASS invalid username-password pair or user is disabled.
Access denied for user 'crm'@'10.42.0.9' (using password: YES)
ORA-01017: invalid username/password; logon denied
javax.crypto.BadPaddingException: Given final block not properly padded. Such issues can arise if a bad key is used during decryption.
KeyError: 'token'
Missing key: password in map[string]interface {}
panic: secret key must be 32 bytes, got 31
mount error(13): Permission denied, user svc-scan
fatal: could not read Username for 'https://git.nordlicht.example': terminal prompts disabled
error: password: Required value
Key 'DB_PASSWORD' is not set, falling back to file
auth token file /var/run/secrets/token not found: retrying in 5s
The password must contain: one digit, one letter
=== plain startup
DB_PASSWORD=*** DB_USER=orders
spring.datasource.password=******
password: [REDACTED] token: <hidden>
loaded secret key from /run/secrets/key (32 bytes)
token: none, using anonymous
api key id <=uuid=> active since 2024
session store: redis, key prefix sess:
Authorization: Bearer ***
connecting to postgres://orders:xxxxx@orders-db:5432/orders
Using keystore /etc/tls/keystore.p12, alias orders
JWT algorithm: RS256, kid <=base64url 32=>
Secrets: 14 loaded, 0 missing
license: enterprise, valid until 2027-01-01
password hashing: argon2id m=65536 t=3 p=4
tokens: ['the', 'parcel', 'is', 'late']
=== plain stack
java.lang.IllegalStateException: Token <=uuid=> already used
	at com.nordlicht.auth.PasswordResetTokenService.consume(PasswordResetTokenService.java:112)
	at org.springframework.security.authentication.dao.DaoAuthenticationProvider.additionalAuthenticationChecks(DaoAuthenticationProvider.java:79)
	at org.springframework.security.web.authentication.UsernamePasswordAuthenticationFilter.attemptAuthentication(UsernamePasswordAuthenticationFilter.java:85)
	at com.nordlicht.keys.KeyStoreLoader$$EnhancerBySpringCGLIB$$<=hex 8=>.load(<generated>)
Caused by: java.security.UnrecoverableKeyException: Cannot recover key
	... 41 more
"""
)
