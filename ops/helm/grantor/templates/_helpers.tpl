{{- define "grantor.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "grantor.selector" -}}
app.kubernetes.io/name: grantor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "grantor.labels" -}}
{{ include "grantor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "grantor.image" -}}
{{- if .Values.image.digest }}{{ .Values.image.repository }}@{{ .Values.image.digest }}{{ else }}{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The program runs as the image's user, and nothing in the pod calls the Kubernetes API. */}}
{{- define "grantor.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "grantor.containerSecurity" -}}
image: {{ include "grantor.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{- define "grantor.databaseEnv" -}}
- name: GRANTOR_DATABASE_URL
  {{- if eq .root.Values.store "sqlite" }}
  value: sqlite:/var/lib/grantor/grantor.sqlite
  {{- else }}
  valueFrom: { secretKeyRef: { name: {{ .root.Values.secret.name }}, key: {{ .key }} } }
  {{- end }}
{{- end }}

{{/* Where the container needs the database: SQLite's volume, or the certificates of PostgreSQL. */}}
{{- define "grantor.databaseMounts" -}}
{{- if eq .Values.store "sqlite" -}}
- { name: data, mountPath: /var/lib/grantor }
{{- else if .Values.databaseCaConfigMap -}}
- { name: database-ca, mountPath: /etc/grantor-ca, readOnly: true }
{{- end }}
{{- end }}

{{- define "grantor.databaseVolumes" -}}
{{- if and (eq .Values.store "postgresql") .Values.databaseCaConfigMap -}}
- name: database-ca
  configMap: { name: {{ .Values.databaseCaConfigMap }} }
{{- end }}
{{- end }}

{{- define "grantor.settingsEnv" -}}
- { name: GRANTOR_AUTH_URL, value: {{ .Values.authUrl | quote }} }
- { name: GRANTOR_LOGIN_URL, value: {{ .Values.loginUrl | quote }} }
{{- range $name, $value := .Values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "grantor.probes" -}}
startupProbe:
  httpGet: { path: /health/live, port: {{ . }} }
  periodSeconds: 1
  failureThreshold: 60
livenessProbe:
  httpGet: { path: /health/live, port: {{ . }} }
  periodSeconds: 10
  timeoutSeconds: 5
readinessProbe:
  httpGet: { path: /health/ready, port: {{ . }} }
  periodSeconds: 2
  timeoutSeconds: 3
  failureThreshold: 2
{{- end }}

{{/* One pod: the auth service and, beside it, the login server, which calls it on loopback. */}}
{{- define "grantor.pod" -}}
metadata:
  labels: {{- include "grantor.labels" . | nindent 4 }}
spec:
  {{- include "grantor.podSecurity" . | nindent 2 }}
  # the longer drain, and ten seconds for the requests in progress
  terminationGracePeriodSeconds: {{ add .Values.drainSeconds 3 10 }}
  {{- if eq .Values.store "postgresql" }}
  topologySpreadConstraints:
    {{- range tuple "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - topologyKey: {{ . }}
      maxSkew: 1
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels: {{- include "grantor.selector" $ | nindent 10 }}
    {{- end }}
  {{- else }}
  # the volume is mounted here only, so no job can migrate the database
  initContainers:
    - name: migrate
      {{- include "grantor.containerSecurity" . | nindent 6 }}
      args: [migrate]
      env: {{- include "grantor.databaseEnv" (dict "root" . "key" "") | nindent 8 }}
      volumeMounts: {{- include "grantor.databaseMounts" . | nindent 8 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
  {{- end }}
  containers:
    - name: auth
      {{- include "grantor.containerSecurity" . | nindent 6 }}
      args: [serve{{ if gt (int .Values.workers) 1 }}, --workers, {{ .Values.workers | quote }}{{ end }}]
      ports:
        - { name: auth, containerPort: 4000 }
        {{- if .Values.admin.url }}
        - { name: admin, containerPort: 4002 }
        {{- end }}
        {{- if .Values.metrics.enabled }}
        - { name: metrics, containerPort: 9464 }
        {{- end }}
      env:
        {{- include "grantor.settingsEnv" . | nindent 8 }}
        {{- include "grantor.databaseEnv" (dict "root" . "key" "database-url") | nindent 8 }}
        - { name: GRANTOR_LISTEN, value: "0.0.0.0:4000" }
        {{- if .Values.admin.url }}
        - { name: GRANTOR_ADMIN_URL, value: {{ .Values.admin.url | quote }} }
        - { name: GRANTOR_ADMIN_LISTEN, value: "0.0.0.0:4002" }
        {{- end }}
        # longer than the drain of the login server, which calls this program to its end
        - { name: GRANTOR_DRAIN_SECONDS, value: {{ add .Values.drainSeconds 3 | quote }} }
        {{- if .Values.metrics.enabled }}
        - { name: GRANTOR_METRICS_LISTEN, value: "0.0.0.0:9464" }
        {{- end }}
        - { name: GRANTOR_SECRET_FILE, value: /run/grantor/secret }
        - { name: GRANTOR_LOGIN_SECRET_FILE, value: /run/grantor/login-secret }
        {{- if .Values.secret.secretPrevious }}
        - { name: GRANTOR_SECRET_PREVIOUS_FILE, value: /run/grantor/secret-previous }
        {{- end }}
        {{- if .Values.secret.loginSecretPrevious }}
        - { name: GRANTOR_LOGIN_SECRET_PREVIOUS_FILE, value: /run/grantor/login-secret-previous }
        {{- end }}
        {{- if .Values.secret.registrationToken }}
        - { name: GRANTOR_REGISTRATION_TOKEN_FILE, value: /run/grantor/registration-token }
        {{- end }}
        {{- if .Values.secret.hookSecret }}
        - { name: GRANTOR_HOOK_SECRET_FILE, value: /run/grantor/hook-secret }
        {{- end }}
        {{- if .Values.secret.hookSecretPrevious }}
        - { name: GRANTOR_HOOK_SECRET_PREVIOUS_FILE, value: /run/grantor/hook-secret-previous }
        {{- end }}
        {{- if .Values.secret.chains }}
        - name: GRANTOR_CHAINS
          valueFrom: { secretKeyRef: { name: {{ .Values.secret.name }}, key: chains } }
        {{- end }}
      volumeMounts:
        - { name: secrets, mountPath: /run/grantor, readOnly: true }
        {{- with include "grantor.databaseMounts" . }}{{ . | nindent 8 }}{{ end }}
      {{- include "grantor.probes" "auth" | nindent 6 }}
      resources: {{- toYaml .Values.resources | nindent 8 }}
    {{- if .Values.login.enabled }}
    - name: login
      {{- include "grantor.containerSecurity" . | nindent 6 }}
      args: [login-server]
      ports:
        - { name: login, containerPort: 4001 }
        {{- if .Values.metrics.enabled }}
        - { name: login-metrics, containerPort: 9465 }
        {{- end }}
      env:
        {{- include "grantor.settingsEnv" . | nindent 8 }}
        - { name: GRANTOR_LOGIN_LISTEN, value: "0.0.0.0:4001" }
        {{- if .Values.metrics.enabled }}
        - { name: GRANTOR_LOGIN_METRICS_LISTEN, value: "0.0.0.0:9465" }
        {{- end }}
        - { name: GRANTOR_AUTH_BACKEND_URL, value: "http://127.0.0.1:4000" }
        - { name: GRANTOR_DRAIN_SECONDS, value: {{ .Values.drainSeconds | quote }} }
        - { name: GRANTOR_LOGIN_SECRET_FILE, value: /run/grantor/login-secret }
      volumeMounts:
        - { name: login-secret, mountPath: /run/grantor, readOnly: true }
      {{- include "grantor.probes" "login" | nindent 6 }}
      resources: {{- toYaml .Values.login.resources | nindent 8 }}
    {{- end }}
  volumes:
    - name: secrets
      secret:
        secretName: {{ .Values.secret.name }}
        defaultMode: 0440
        items:
          - { key: secret, path: secret }
          - { key: login-secret, path: login-secret }
          {{- if .Values.secret.secretPrevious }}
          - { key: secret-previous, path: secret-previous }
          {{- end }}
          {{- if .Values.secret.loginSecretPrevious }}
          - { key: login-secret-previous, path: login-secret-previous }
          {{- end }}
          {{- if .Values.secret.registrationToken }}
          - { key: registration-token, path: registration-token }
          {{- end }}
          {{- if .Values.secret.hookSecret }}
          - { key: hook-secret, path: hook-secret }
          {{- end }}
          {{- if .Values.secret.hookSecretPrevious }}
          - { key: hook-secret-previous, path: hook-secret-previous }
          {{- end }}
    {{- if .Values.login.enabled }}
    - name: login-secret
      secret:
        secretName: {{ .Values.secret.name }}
        defaultMode: 0440
        items:
          - { key: login-secret, path: login-secret }
    {{- end }}
    {{- with include "grantor.databaseVolumes" . }}{{ . | nindent 4 }}{{ end }}
{{- end }}
