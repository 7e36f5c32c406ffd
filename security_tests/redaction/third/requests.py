"""HTTP as proxies, clients and debuggers print it."""

from __future__ import annotations

from typing import Final

from security_tests.redaction.third import markup

__all__ = ["LINES"]

LINES: Final = markup.sections(r"""
=== curl verbose
> POST /v1/login HTTP/1.1
> Host: api.example.com
> Authorization: Basic <%basic%>
> X-Api-Key: <%b62 32%>
<#> User-Agent: curl/8.5.0#>
< HTTP/1.1 200 OK
< Set-Cookie: SESSION=<%b62 40%>; Path=/; HttpOnly
<#< ETag: "<=hex 32=>"#>
=== curl digest and token
> PRIVATE-TOKEN: <%b62 20 glpat-%>
> X-Vault-Token: <%b62 24 hvs.%>
> Proxy-Authorization: Basic <%basic%>
> X-Auth-Token: <%hex 32%>
<#> X-Request-Id: <=uuid=>#>
=== raw json body
POST /api/session {"username":"anna","password":"<%odd%>","<#remember#>":true}
=== token response
< {"access_token":"<%jwt%>","<#expires_in#>":300,"refresh_token":"<%b62 60%>","<#token_type#>":"<#Bearer#>","id_token":"<%jwt%>"}
=== access log query
10.0.0.1 - - [04/Mar/2026:05:06:07 +0000] "GET /export?apikey=<%hex 32%>&<#format=csv#> HTTP/1.1" 200 12
=== access log signature
10.0.0.1 "GET /file/<#<=hex 40=>#>?Expires=1760000000&Signature=<%b64 40|url%>&Key-Pair-Id=<=upper 14=>" 200
=== access log german
10.0.0.1 "GET /anmelden?benutzer=anna&passwort=<%weak de|url%> HTTP/1.1" 302
=== oauth code
"GET /callback?code=<%b62 40%>&state=<~b62 20~> HTTP/2" 302
=== multipart
--<#----WebKitFormBoundary<=b62 16=>#>
Content-Disposition: form-data; name="password"

<%odd%>
--
=== python http client
send: b'POST /login HTTP/1.1\r\nCookie: sid=<%b62 32%>; <#lang=de#>\r\n\r\nuser=a&pwd=<%dull%>'
=== rack env
"HTTP_AUTHORIZATION"=>"Token token=<%b62 32%>", "<#HTTP_ACCEPT#>"=>"*/*", "HTTP_COOKIE"=>"_session=<%b62 60%>"
=== go http dump
map[Accept:[*/*] Authorization:[Bearer <%b62 40%>] <#X-Trace-Id:[<=hex 32=>]#> X-Api-Key:[<%hex 32%>]]
=== java headers
[Authorization:"Bearer <%jwt%>", Cookie:"JSESSIONID=<%upper 32%>", <#Accept:"application/json"#>]
=== axios error
headers: { Authorization: 'Bearer <%b62 40%>', 'X-Shop-Token': '<%hex 32%>', <#'Content-Length': '42'#> }
=== websocket url
wss://ws.example.com/socket?access_token=<%b62 40%>&<#v=2#>
=== graphql
{"query":"mutation { login(email: \"a@example.com\", password: \"<%strong%>\") { <#token#> } }"}
{"operationName":"Login","variables":{"input":{"email":"a@example.com","password":"<%odd%>"}}}
=== soap
<wsse:UsernameToken><wsse:Username>svc</wsse:Username><wsse:Password><%odd|xml%></wsse:Password></wsse:UsernameToken>
=== hmac header
Authorization: AWS4-HMAC-SHA256 Credential=<~upper 16 AKIA~>/20260304/eu-central-1/s3/aws4_request, SignedHeaders=host, Signature=<~hex 64~>
=== api key scheme
Authorization: ApiKey <%b64 30%>
Authorization: GenieKey <%uuid%>
Authorization: Splunk <%uuid%>
Authorization: Negotiate <%b64 90 YII%>
=== bearer sentence
request failed with bearer <%b62 40%>
=== websocket frame
{"type":"connection_init","payload":{"authToken":"<%b62 40%>"}}
=== curl command echo
curl -X POST 'https://hub.example.com/build/source/<=uuid=>/trigger/<%uuid%>/call/' -b 'sid=<%b62 32%>'
=== http2 frame
header: :path: /x, authorization: Bearer <%b62 40%>, <#grpc-timeout: 3S#>
=== grpc metadata
metadata=map[authorization:[bearer <%jwt%>] <#user-agent:[grpc-go/1.60]#>]
=== envoy json
{"authority":"api","path":"/v2/hook?key=<%b62 32%>","<#x_request_id#>":"<#<=uuid=>#>"}
""")
