{{- /* The settings as the server reads them: `config`, and what the chart's own objects decide. */}}
{{- define "kubescript.settings" -}}
{{- $settings := deepCopy .Values.config -}}
{{- $service := printf "%s.%s.svc" (include "kubescript.name" .) .Release.Namespace -}}
{{- $http := $settings.http | default dict -}}
{{- $url := printf "%s://%s:8080/mcp" (include "kubescript.scheme" .) $service -}}
{{- /* Clients in the cluster name the Service, whatever the name outside is. */ -}}
{{- $hosts := append ($http.hosts | default list) $service | uniq -}}
{{- $_ := set $settings "http" (merge (dict "hosts" $hosts) $http (dict "url" $url)) -}}
{{- if .Values.tls.secret -}}
{{- $files := dict "cert_file" "/etc/kubescript-tls/tls.crt" "key_file" "/etc/kubescript-tls/tls.key" -}}
{{- $_ := set $settings "tls" (merge $files ($settings.tls | default dict)) -}}
{{- end -}}
{{- toYaml (merge (dict "host" "0.0.0.0" "port" 8080) $settings) -}}
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
