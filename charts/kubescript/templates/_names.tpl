{{- /* The name of a Service is a label of DNS: it begins with a letter, has at most 63 characters, and no dot. */}}
{{- define "kubescript.name" -}}
{{- $name := printf "%s-%s" .Release.Name .Chart.Name -}}
{{- if regexMatch "^[0-9]" .Release.Name -}}
{{- $name = printf "%s-%s" .Chart.Name .Release.Name -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- $name = .Release.Name -}}
{{- end -}}
{{- $name | replace "." "-" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* The name of an object of the whole cluster: no namespace and no release has a colon, so no other release makes it. */}}
{{- define "kubescript.clusterName" -}}
{{ .Release.Namespace }}:{{ include "kubescript.name" . }}
{{- end }}

{{- define "kubescript.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "kubescript.name" .) }}
{{- end }}

{{- define "kubescript.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end }}
{{- end }}

{{- define "kubescript.selector" -}}
app.kubernetes.io/name: kubescript
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end }}

{{- define "kubescript.labels" -}}
{{ include "kubescript.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kubescript.metadata" -}}
name: {{ include "kubescript.name" . | quote }}
namespace: {{ .Release.Namespace | quote }}
labels: {{- include "kubescript.labels" . | nindent 2 }}
{{- end }}

{{- define "kubescript.fleetMetadata" -}}
name: {{ include "kubescript.clusterName" . | printf "%s:fleet" | quote }}
namespace: {{ dig "fleet" "namespace" .Release.Namespace .Values.config | quote }}
labels: {{- include "kubescript.labels" . | nindent 2 }}
{{- end }}

{{- /* Labels of the namespaces of clients. Not in values.yaml: Helm would add them to those that a person gives. */}}
{{- define "kubescript.clients" -}}
{{- .Values.networkPolicy.clients | default (dict "kubescript-clients" "true") | toYaml }}
{{- end }}

{{- define "kubescript.subjects" -}}
- kind: ServiceAccount
  name: {{ include "kubescript.serviceAccount" . | quote }}
  namespace: {{ .Release.Namespace | quote }}
{{- end }}

{{- /* The same, with the labels by which Prometheus' operator finds an object. */}}
{{- define "kubescript.watchedMetadata" -}}
{{ include "kubescript.metadata" . }}
  {{- with .Values.metrics.labels }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
