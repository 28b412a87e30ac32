{{- define "storefront.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name }}{{ else }}{{ .Release.Name }}-{{ .Chart.Name }}{{ end }}
{{- end }}

{{/* The labels that select the pods of a component. Arguments: (list . "server") */}}
{{- define "storefront.selector" -}}
app.kubernetes.io/name: {{ (index . 0).Chart.Name }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{- define "storefront.labels" -}}
{{ include "storefront.selector" . }}
app.kubernetes.io/version: {{ (index . 0).Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ (index . 0).Release.Service }}
helm.sh/chart: {{ (index . 0).Chart.Name }}-{{ (index . 0).Chart.Version }}
{{- end }}

{{- define "storefront.secret" -}}
{{ .Values.existingSecret | default (include "storefront.name" .) }}
{{- end }}

{{/* An environment variable with the value of a key that the Secret may lack. Arguments: (list "STOREFRONT_NOTICES_SECRET"
NAME-OF-THE-SECRET "notices-secret"). The variable names no file, because it would name it even if the Secret lacks the key. */}}
{{- define "storefront.variable" -}}
- name: {{ index . 0 }}
  valueFrom:
    secretKeyRef:
      name: {{ index . 1 }}
      key: {{ index . 2 }}
      optional: true
{{- end }}

{{/* A volume with keys of a Secret as files. Arguments: (list NAME-OF-THE-SECRET KEY FILE KEY FILE …). storefront refuses files
with Kubernetes' default mode, 0644. The user of the image reads the files through fsGroup. */}}
{{- define "storefront.secrets" -}}
name: secrets
secret:
  secretName: {{ first . }}
  defaultMode: 0440
  items:
    {{- range chunk 2 (rest .) }}
    - {key: {{ first . }}, path: {{ last . }}}
    {{- end }}
{{- end }}

{{/* The settings of every container: the image runs without root, on a file system that it cannot write. */}}
{{- define "storefront.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  readOnlyRootFilesystem: true
  allowPrivilegeEscalation: false
  capabilities: {drop: [ALL]}
  seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "storefront.pod" -}}
securityContext: {fsGroup: 65532}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- if .Values.sqlite.claim }}
# All pods must run on one node, because they share the SQLite file. Its owner is the user of the image.
affinity:
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      - topologyKey: kubernetes.io/hostname
        labelSelector: {matchLabels: {app.kubernetes.io/name: {{ .Chart.Name }}, app.kubernetes.io/instance: {{ .Release.Name }}}}
{{- else }}
{{- with .Values.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}
{{- end }}

{{/* The volume at /data. It has the SQLite file, or space for a temporary file of a command in the pod, such as an import. */}}
{{- define "storefront.data" -}}
- name: data
  {{- if .Values.sqlite.claim }}
  persistentVolumeClaim: {claimName: {{ .Values.sqlite.claim }}}
  {{- else }}
  emptyDir: {sizeLimit: 1Gi}
  {{- end }}
{{- end }}

{{/* The container of a server or a worker. Arguments: (list . "server") */}}
{{- define "storefront.serving" -}}
{{- $component := index . 1 }}
{{- with index . 0 }}
{{- $secret := include "storefront.secret" . }}
{{- include "storefront.container" . }}
command: [/storefront]
args: [{{ $component }}]
env:
  - {name: STOREFRONT_CONFIG, value: /etc/storefront/settings.yaml}
  - {name: STOREFRONT_ADMIN_ADDR, value: ":8081"}
  - {name: STOREFRONT_DATABASE_URL_FILE, value: /run/secrets/storefront/database-url}
  - {name: STOREFRONT_SECRET_KEY_FILE, value: /run/secrets/storefront/secret-key}
  - {name: STOREFRONT_ADMIN_TOKEN_FILE, value: /run/secrets/storefront/admin-token}
  {{- include "storefront.variable" (list "STOREFRONT_OLD_SECRET_KEYS" $secret "old-secret-keys") | nindent 2 }}
  {{- include "storefront.variable" (list "STOREFRONT_OLD_ADMIN_TOKEN" $secret "old-admin-token") | nindent 2 }}
  {{- include "storefront.variable" (list "STOREFRONT_NOTICES_SECRET" $secret "notices-secret") | nindent 2 }}
  {{- with .Values.env }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  {{- if eq $component "server" }}
  - {name: http, containerPort: 8080}
  {{- end }}
  - {name: operator, containerPort: 8081}
startupProbe:
  httpGet: {path: /healthz, port: operator}
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet: {path: /healthz, port: operator}
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /readyz, port: operator}
  periodSeconds: 5
  timeoutSeconds: 4
volumeMounts:
  - {name: settings, mountPath: /etc/storefront, readOnly: true}
  - {name: secrets, mountPath: /run/secrets/storefront, readOnly: true}
  - {name: data, mountPath: /data}
resources: {{ toJson (index .Values $component).resources }}
{{- end }}
{{- end }}

{{/* The rules for outgoing connections of each component: DNS, the database, and the rules in extraEgress. */}}
{{- define "storefront.egress" -}}
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
- ports: [{port: {{ .Values.networkPolicy.databasePort }}, protocol: TCP}]
  {{- with .Values.networkPolicy.database }}
  to: {{ toJson . }}
  {{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
