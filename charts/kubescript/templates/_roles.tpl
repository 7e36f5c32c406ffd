{{- /* How scripts may change the cluster, as the server understands `config`: off, plan or direct. */}}
{{- define "kubescript.mode" -}}
{{- $readOnly := get .Values.config "read_only" | toString -}}
{{- if eq $readOnly "true" -}}off
{{- else -}}{{ .Values.config.writes | default (eq $readOnly "false" | ternary "plan" "off") }}
{{- end -}}
{{- end }}

{{- /* What the toolsets of `config` ask for in its mode: the rules of files/roles. */}}
{{- define "kubescript.rules" -}}
{{- $changes := ne (include "kubescript.mode" .) "off" -}}
{{- range .Values.config.toolsets }}
{{ $.Files.Get (printf "files/roles/%s-read.yaml" .) }}
{{- if $changes }}{{ $.Files.Get (printf "files/roles/%s-%s.yaml" . (include "kubescript.mode" $)) }}{{ end }}
{{- if $.Values.rbac.secrets }}{{ $.Files.Get (printf "files/roles/%s-secrets.yaml" .) }}{{ end }}
{{- end }}
{{- if or (dig "nodes" "logs" false .Values.config) (dig "nodes" "summary" false .Values.config) }}
{{ .Files.Get "files/roles/nodes-read.yaml" }}
{{- end }}
{{- if .Values.rbac.customGroups }}
{{ tpl (.Files.Get "files/roles/custom-read.yaml") . }}
{{- if $changes }}{{ tpl (.Files.Get "files/roles/custom-write.yaml") . }}{{ end }}
{{- end }}
{{- end }}

{{- /* Whom a server that acts as its callers may impersonate. */}}
{{- define "kubescript.impersonation" -}}
- apiGroups: [""]
  resources: [users]
  verbs: [impersonate]
{{- with dig "impersonation" "groups" list .Values.config }}
- apiGroups: [""]
  resources: [groups]
  verbs: [impersonate]
  # Without names the account could become system:masters.
  resourceNames:
    {{- range . }}
    {{- if contains "*" . }}{{ fail (printf "config.impersonation.groups: RBAC knows no patterns, so name the groups that %q stands for" .) }}{{ end }}
    {{- $group := printf "%s%s" (dig "impersonation" "group_prefix" "" $.Values.config) . }}
    {{- if regexMatch "^(system|kubeadm):" $group }}{{ fail (printf "config.impersonation.groups: the server never sends %q, a group of Kubernetes itself, so leave it out" $group) }}{{ end }}
    - {{ quote $group }}
    {{- end }}
{{- end }}
{{- end }}
