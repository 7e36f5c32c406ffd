{{- define "kubescript.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
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
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kubescript.labels" -}}
{{ include "kubescript.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kubescript.metadata" -}}
name: {{ include "kubescript.name" . }}
namespace: {{ .Release.Namespace }}
labels: {{- include "kubescript.labels" . | nindent 2 }}
{{- end }}
