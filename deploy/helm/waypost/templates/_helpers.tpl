{{/* The names of all resources begin with the release, which may be "waypost" itself. */}}
{{- define "waypost.name" -}}
{{- if contains "waypost" .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-waypost" .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end }}

{{- define "waypost.selector" -}}
app.kubernetes.io/name: waypost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .service }}
{{- end }}

{{- define "waypost.labels" -}}
{{ include "waypost.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* The labels of a pod. They name no version of the chart: a new chart must not restart a service that keeps its image. */}}
{{- define "waypost.podLabels" -}}
{{ include "waypost.selector" . }}
app.kubernetes.io/version: {{ include "waypost.tag" . | splitList "@" | first | trunc 63 | trimAll "-_." | quote }}
{{- with .root.Values.podLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The tag of a service; the jobs `topics` and `test` have the tag of all. */}}
{{- define "waypost.tag" -}}
{{- $own := dig "image" "tag" "" (get .root.Values.services .service | default dict) -}}
{{- $own | default .root.Values.image.tag | default .root.Chart.AppVersion -}}
{{- end }}

{{- define "waypost.image" -}}
{{ printf "%s:%s" .root.Values.image.repository (include "waypost.tag" .) }}
{{- end }}

{{- define "waypost.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (.Values.serviceAccount.create | ternary (include "waypost.name" .) "default") -}}
{{- end }}

{{/*
The number of processes of a service, and whether it is kept from autoscaling. While KEDA scales, a deployment keeps the
number that it has: without the field Kubernetes would set it to 1. After autoscaling is switched off, the number stays
until `replicas` changes; the annotation waypost/replicas holds the value that has been ignored so far.
*/}}
{{- define "waypost.scale" -}}
{{- $service := get .root.Values.services .service -}}
{{- $live := lookup "apps/v1" "Deployment" .root.Release.Namespace (printf "%s-%s" (include "waypost.name" .root) .service) -}}
{{- $now := dig "spec" "replicas" 0 $live | int -}}
{{- $ignored := dig "metadata" "annotations" "waypost/replicas" "" $live -}}
{{- if dig "autoscaling" "enabled" false $service -}}
{{- dict "replicas" (max $service.autoscaling.min $now) "kept" true | toJson -}}
{{- else if eq $ignored (toString $service.replicas) -}}
{{- dict "replicas" $now "kept" true | toJson -}}
{{- else -}}
{{- dict "replicas" (int $service.replicas) "kept" false | toJson -}}
{{- end -}}
{{- end }}

{{/* "true" if control has a volume for its embedded database. */}}
{{- define "waypost.hasVolume" -}}
{{- if and .Values.persistence.enabled (not .Values.database.existingSecret) }}true{{ end -}}
{{- end }}

{{/* The health port of a service, as in shared/service/settings.ts. */}}
{{- define "waypost.healthPort" -}}
{{- get (dict "ingest" "9401" "router" "9402" "delivery" "9403" "retry" "9404" "audiences" "9406" "control" "9405") . -}}
{{- end }}

{{/* Fails with a sentence for each missing required value, and for a version that is too old. Chart.yaml says which Kubernetes. */}}
{{- define "waypost.check" -}}
{{- if semverCompare "<3.18.0-0" .Capabilities.HelmVersion.Version }}{{ fail (printf "this is Helm %s: the chart needs Helm 3.18 or newer" .Capabilities.HelmVersion.Version) }}{{ end -}}
{{- if not .Values.kafka.brokers }}{{ fail "kafka.brokers is empty: name the brokers, host:port" }}{{ end -}}
{{- if not .Values.secrets.existingSecret }}{{ fail "secrets.existingSecret is empty. Make one, and keep a copy of its secret-key:\n  kubectl create secret generic waypost --from-literal=admin-token=$(openssl rand -hex 32) --from-literal=secret-key=$(openssl rand -base64 32)" }}{{ end -}}
{{- if and .Values.kafka.sasl.mechanism (not .Values.kafka.sasl.existingSecret) }}{{ fail "kafka.sasl.mechanism needs kafka.sasl.existingSecret" }}{{ end -}}
{{- range $name, $service := .Values.services -}}
{{- with $service.autoscaling -}}
{{- if and .enabled (has $name (list "router" "delivery" "audiences")) (gt (int .max) (int $.Values.kafka.partitions)) }}{{ fail (printf "services.%s.autoscaling.max is more than kafka.partitions: the others would stand idle" $name) }}{{ end -}}
{{- if and .enabled (lt (int .max) (int .min)) }}{{ fail (printf "services.%s.autoscaling.max is less than its min" $name) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if not .Values.database.existingSecret -}}
{{- if gt (int .Values.services.control.replicas) 1 }}{{ fail "services.control.replicas is more than 1: several control processes need one history on a PostgreSQL server. Put its address into a secret and name it in database.existingSecret" }}{{ end -}}
{{- if not (or .Values.persistence.enabled .Values.persistence.ephemeral) }}{{ fail "the history of control has no place. Set persistence.enabled=true for a volume, or database.existingSecret for a PostgreSQL server, or persistence.ephemeral=true if each restart of control may lose it" }}{{ end -}}
{{- end -}}
{{- include "waypost.checkKeda" . -}}
{{- end }}

{{/* `helm template` sees no cluster, and no KEDA: it checks nothing. */}}
{{- define "waypost.checkKeda" -}}
{{- $scaled := list -}}
{{- range $name, $service := .Values.services }}{{ if dig "autoscaling" "enabled" false $service }}{{ $scaled = append $scaled $name }}{{ end }}{{ end -}}
{{- if and $scaled .Values.autoscaling.checkKeda (.Capabilities.APIVersions.Has "apps/v1/Deployment") -}}
{{- if not (.Capabilities.APIVersions.Has "keda.sh/v1alpha1/ScaledObject") }}{{ fail (printf "services.%s.autoscaling needs KEDA 2.17 or newer, which this cluster does not have" (first $scaled)) }}{{ end -}}
{{- range (lookup "apiextensions.k8s.io/v1" "CustomResourceDefinition" "" "scaledobjects.keda.sh" | dig "spec" "versions" list) -}}
{{- if not (dig "schema" "openAPIV3Schema" "properties" "spec" "properties" "fallback" "properties" "behavior" false .) }}{{ fail "KEDA is older than 2.17: it does not know fallback.behavior of a ScaledObject. Upgrade KEDA and its custom resource definitions first" }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The keys of a service's Kafka user and password in the secret. */}}
{{- define "waypost.saslKey" -}}
{{- if .root.Values.kafka.sasl.perService }}{{ .service }}-{{ .key }}{{ else }}{{ .key }}{{ end -}}
{{- end }}

{{- define "waypost.env" -}}
{{- $values := .root.Values -}}
- { name: KAFKA_BROKERS, value: {{ join "," $values.kafka.brokers | quote }} }
{{- if $values.kafka.tls.enabled }}
- { name: KAFKA_SSL, value: 'true' }
{{- if $values.kafka.tls.caSecret }}
- { name: KAFKA_SSL_CA_FILE, value: /etc/waypost/kafka-ca/ca.crt }
{{- end }}
{{- if $values.kafka.tls.clientSecret }}
- { name: KAFKA_SSL_CERT_FILE, value: /etc/waypost/kafka-client/tls.crt }
- { name: KAFKA_SSL_KEY_FILE, value: /etc/waypost/kafka-client/tls.key }
{{- end }}
{{- end }}
{{- if $values.kafka.sasl.mechanism }}
- { name: KAFKA_SASL_MECHANISM, value: {{ $values.kafka.sasl.mechanism | quote }} }
{{- range $key := list "username" "password" }}
- name: KAFKA_SASL_{{ upper $key }}
  valueFrom:
    secretKeyRef:
      name: {{ $values.kafka.sasl.existingSecret }}
      key: {{ include "waypost.saslKey" (merge (dict "key" $key) $) }}
{{- end }}
{{- end }}
- { name: WAYPOST_TOPIC_PREFIX, value: {{ $values.kafka.topicPrefix | quote }} }
- { name: WAYPOST_PARTITIONS, value: {{ $values.kafka.partitions | quote }} }
- { name: WAYPOST_REPLICATION, value: {{ $values.kafka.replication | quote }} }
- { name: WAYPOST_DATA_DIR, value: /var/lib/waypost }
{{- if and $values.allowedNetworks (eq .service "delivery") }}
- { name: WAYPOST_ALLOWED_NETWORKS, value: {{ join "," $values.allowedNetworks | quote }} }
{{- end }}
{{- if has .service (list "delivery" "control") }}
- name: WAYPOST_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secrets.existingSecret }}, key: secret-key } }
{{- end }}
{{- if eq .service "control" }}
- name: WAYPOST_ADMIN_TOKEN
  valueFrom: { secretKeyRef: { name: {{ $values.secrets.existingSecret }}, key: admin-token } }
- name: WAYPOST_DATABASE_URL
  {{- if $values.database.existingSecret }}
  valueFrom: { secretKeyRef: { name: {{ $values.database.existingSecret }}, key: {{ $values.database.key }} } }
  {{- else }}
  # Earlier charts had no other place for the address.
  valueFrom: { secretKeyRef: { name: {{ $values.secrets.existingSecret }}, key: database-url, optional: true } }
  {{- end }}
{{- end }}
{{- if and $values.telemetry.otlpEndpoint (ne .service "topics") }}
- { name: OTEL_EXPORTER_OTLP_ENDPOINT, value: {{ $values.telemetry.otlpEndpoint | quote }} }
- { name: OTEL_TRACES_EXPORTER, value: otlp }
- { name: OTEL_METRICS_EXPORTER, value: none }
- { name: OTEL_LOGS_EXPORTER, value: none }
- { name: OTEL_TRACES_SAMPLER, value: parentbased_traceidratio }
- { name: OTEL_TRACES_SAMPLER_ARG, value: {{ $values.telemetry.sampleRatio | quote }} }
{{- end }}
{{- range $name, $value := merge (dict) (.env | default dict) $values.settings }}
- { name: {{ $name }}, value: {{ $value | quote }} }
{{- end }}
{{- end }}

{{- define "waypost.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "waypost.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}

{{- define "waypost.mounts" -}}
- { name: tmp, mountPath: /tmp }
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.caSecret }}
- { name: kafka-ca, mountPath: /etc/waypost/kafka-ca, readOnly: true }
{{- end }}
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.clientSecret }}
- { name: kafka-client, mountPath: /etc/waypost/kafka-client, readOnly: true }
{{- end }}
{{- end }}

{{- define "waypost.volumes" -}}
- { name: tmp, emptyDir: {} }
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.caSecret }}
- { name: kafka-ca, secret: { secretName: {{ .Values.kafka.tls.caSecret }} } }
{{- end }}
{{- if and .Values.kafka.tls.enabled .Values.kafka.tls.clientSecret }}
- { name: kafka-client, secret: { secretName: {{ .Values.kafka.tls.clientSecret }} } }
{{- end }}
{{- end }}
