{{- /* The settings as the server reads them: `config`, and what the chart's own objects decide. */}}
{{- define "kubescript.settings" -}}
{{- $settings := deepCopy .Values.config -}}
{{- $service := printf "%s.%s.svc" (include "kubescript.name" .) .Release.Namespace -}}
{{- $http := $settings.http | default dict -}}
{{- $url := printf "%s://%s:8080/mcp" (include "kubescript.scheme" .) $service -}}
{{- /* Clients in the cluster name the Service, whatever the name outside is. */ -}}
{{- $hosts := append ($http.hosts | default list) $service | uniq -}}
{{- $_ := set $http "hosts" $hosts -}}
{{- $_ := set $http "url" ($http.url | default $url) -}}
{{- if .Values.metrics.enabled -}}{{- $_ := set $http "metrics_port" 9090 -}}{{- end -}}
{{- $_ := set $settings "http" $http -}}
{{- if .Values.tls.secret -}}
{{- $tls := $settings.tls | default dict -}}
{{- $_ := set $tls "cert_file" "/etc/kubescript-tls/tls.crt" -}}
{{- $_ := set $tls "key_file" "/etc/kubescript-tls/tls.key" -}}
{{- $_ := set $settings "tls" $tls -}}
{{- end -}}
{{- $_ := set $settings "host" "0.0.0.0" -}}
{{- $_ := set $settings "port" 8080 -}}
{{- toYaml $settings -}}
{{- end }}

{{- define "kubescript.scheme" -}}
{{ empty .Values.tls.secret | ternary "http" "https" }}
{{- end }}

{{- define "kubescript.stateless" -}}
{{- if dig "http" "stateless" false .Values.config -}}true{{- end -}}
{{- end }}

{{- /* The host of the Ingress and of the route. */}}
{{- define "kubescript.host" -}}
{{- $url := dig "http" "url" "" .Values.config | required "an Ingress or a route needs config.http.url, as clients write it: https://HOST/mcp" -}}
{{- get (urlParse $url) "hostname" -}}
{{- end }}

{{- /* The paths that the Ingress and the route let in: what clients and people ask for, and no more. */}}
{{- define "kubescript.paths" -}}
{{- $paths := list "/mcp" "/approvals" "/.well-known/oauth-protected-resource" -}}
{{- range list "openshift" "openstack" -}}
{{- if has . ($.Values.config.toolsets | default list) -}}{{- $paths = append $paths (printf "/%s" .) -}}{{- end -}}
{{- end -}}
{{- if not (include "kubescript.stateless" .) -}}{{- $paths = concat $paths (list "/sse" "/messages") -}}{{- end -}}
{{- toJson $paths -}}
{{- end }}
