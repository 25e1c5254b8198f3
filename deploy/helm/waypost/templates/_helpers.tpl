{{/* The names of all resources begin with the release, which may be "waypost" itself. */}}
{{- define "waypost.name" -}}
{{- if contains "waypost" .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-waypost" .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end }}

{{/* The pods that run a service: its own, or `all` with `together`. */}}
{{- define "waypost.workload" -}}
{{- if and .root.Values.together (hasKey .root.Values.services .service) }}all{{ else }}{{ .service }}{{ end -}}
{{- end }}

{{/*
The deployments, as a list in JSON: always the same six. With `together` the pod of all services has the deployment of
control, and the other five have no pod. So a switch of `together` only changes objects that exist, and one that fails
leaves none behind.
*/}}
{{- define "waypost.workloads" -}}
{{- list "ingest" "router" "delivery" "retry" "audiences" (.Values.together | ternary "all" "control") | toJson -}}
{{- end }}

{{/* The port of a pod for `http` or `health` of a service: its name, or its number where one pod has the ports of all. */}}
{{- define "waypost.podPort" -}}
{{- if ne (include "waypost.workload" .) "all" }}{{ .port }}
{{- else if eq .port "health" }}{{ include "waypost.healthPort" .service }}
{{- else }}{{ get (dict "ingest" "8080" "control" "8090") .service }}{{ end -}}
{{- end }}

{{/*
The component of the pods of a `workload`, or of those that run a service. The pod of all services has the component of
control, so Kubernetes ends the old pod before it starts the new one when `together` changes: never do two processes open
the embedded database.
*/}}
{{- define "waypost.component" -}}
{{- .workload | default (include "waypost.workload" .) | replace "all" "control" -}}
{{- end }}

{{/* The labels of the pods of a workload, or of those that run a service. */}}
{{- define "waypost.selector" -}}
app.kubernetes.io/name: waypost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ include "waypost.component" . }}
{{- end }}

{{- define "waypost.labels" -}}
app.kubernetes.io/name: waypost
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .service }}
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

{{/*
The service account of a pod. The topics job, which runs before the others exist, has its own. With kafka.sasl.perService
each service has its own if it logs in by its account.
*/}}
{{- define "waypost.serviceAccount" -}}
{{- $account := .root.Values.serviceAccount -}}
{{- $base := $account.name | default ($account.create | ternary (include "waypost.name" .root) "default") -}}
{{- $each := and .root.Values.kafka.sasl.perService (include "waypost.byAccount" .root) (not (has .service (list "test" "all"))) -}}
{{- if or $each (and $account.create (eq .service "topics")) }}{{ $base }}-{{ .service }}{{ else }}{{ $base }}{{ end -}}
{{- end }}

{{/* A service account with its annotations: those of all services, then its own. */}}
{{- define "waypost.account" -}}
{{- $own := eq .service "topics" | ternary .root.Values.topicsJob (get .root.Values.services .service | default dict) -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "waypost.serviceAccount" . }}
  labels: {{- include "waypost.labels" . | nindent 4 }}
  {{- with merge (dict) (.hook | default dict) (dig "serviceAccount" "annotations" dict $own) .root.Values.serviceAccount.annotations }}
  annotations: {{- toYaml . | nindent 4 }}
  {{- end }}
automountServiceAccountToken: false
{{- end }}

{{/* "true" if services log in to Kafka as their service account, without a user and a password. */}}
{{- define "waypost.byAccount" -}}
{{- $sasl := .Values.kafka.sasl -}}
{{- if or (eq $sasl.mechanism "aws-msk-iam") (and (eq $sasl.mechanism "oauthbearer") (not $sasl.tokenEndpointUrl)) }}true{{ end -}}
{{- end }}

{{/* The region of Amazon MSK: the value, or the one in the name of the first broker, as in shared/runtime/settings.ts. */}}
{{- define "waypost.region" -}}
{{- $name := regexFind "\\.kafka(-serverless)?\\.[a-z0-9-]+\\.amazonaws\\.com(\\.cn)?:[0-9]+$" (first .Values.kafka.brokers | default "") -}}
{{- .Values.kafka.sasl.region | default (regexReplaceAll "^\\.kafka(-serverless)?\\.([a-z0-9-]+)\\..*$" $name "${2}") -}}
{{- end }}

{{/* Pairs as Waypost and KEDA read them: key=value,key=value. */}}
{{- define "waypost.pairs" -}}
{{- $pairs := list -}}
{{- range $key, $value := . }}{{ $pairs = append $pairs (printf "%s=%s" $key $value) }}{{ end -}}
{{- join "," $pairs -}}
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

{{/*
The size of the volume for the embedded database. A claim that exists keeps its size: most storage can neither shrink nor
grow it, and Helm would fail half-way.
*/}}
{{- define "waypost.claimSize" -}}
{{- $claim := lookup "v1" "PersistentVolumeClaim" .Release.Namespace (printf "%s-control" (include "waypost.name" .)) -}}
{{- dig "spec" "resources" "requests" "storage" .Values.persistence.size $claim -}}
{{- end }}

{{/* The health port of a service, as in shared/runtime/settings.ts. */}}
{{- define "waypost.healthPort" -}}
{{- get (dict "ingest" "9401" "router" "9402" "delivery" "9403" "retry" "9404" "audiences" "9406" "control" "9405") . -}}
{{- end }}

{{/* Fails with a sentence for each missing required value, and for a version that is too old. Chart.yaml says which Kubernetes. */}}
{{- define "waypost.check" -}}
{{- if semverCompare "<3.18.0-0" .Capabilities.HelmVersion.Version }}{{ fail (printf "this is Helm %s: the chart needs Helm 3.18 or newer" .Capabilities.HelmVersion.Version) }}{{ end -}}
{{- if not .Values.kafka.brokers }}{{ fail "kafka.brokers is empty: name the brokers, host:port" }}{{ end -}}
{{- if not .Values.secrets.existingSecret }}{{ fail "secrets.existingSecret is empty. Make one, and keep a copy of its secret-key:\n  kubectl create secret generic waypost --from-literal=admin-token=$(openssl rand -hex 32) --from-literal=secret-key=$(openssl rand -base64 32)" }}{{ end -}}
{{- include "waypost.checkLogin" . -}}
{{- include "waypost.checkSettings" . -}}
{{- if .Values.together }}{{ include "waypost.checkTogether" . }}{{ end -}}
{{- range $name := list "router" "delivery" "audiences" -}}
{{- $replicas := get (get $.Values.services $name) "replicas" -}}
{{- if gt (int $replicas) (int $.Values.kafka.partitions) }}{{ fail (printf "services.%s.replicas is more than kafka.partitions: the others would stand idle" $name) }}{{ end -}}
{{- end -}}
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
{{- range $name := list "router" "delivery" -}}
{{- if and (dig "autoscaling" "enabled" false (get $.Values.services $name)) (not $.Values.autoscaling.triggerAuthentication) (eq $.Values.kafka.sasl.mechanism "oauthbearer") $.Values.kafka.sasl.audience -}}
{{ fail (printf "services.%s.autoscaling cannot log in to Kafka: KEDA knows neither tokens of service accounts nor the audience of a token. Name a TriggerAuthentication of yours with another login in autoscaling.triggerAuthentication" $name) }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Fails for a setting that the chart makes from another value: a container would have two variables of one name. */}}
{{- define "waypost.checkSettings" -}}
{{- $all := dict "settings" .Values.settings "topicsJob.env" .Values.topicsJob.env -}}
{{- range $name, $service := .Values.services }}{{ $_ := set $all (printf "services.%s.env" $name) ($service.env | default dict) }}{{ end -}}
{{- range $value, $settings := $all -}}
{{- range $name, $_ := $settings -}}
{{- $made := get ($.Files.Get "files/made-settings.yaml" | fromYaml) $name -}}
{{- if and (not $made) (hasPrefix "KAFKA_SASL_" $name) }}{{ $made = "kafka.sasl" }}{{ end -}}
{{- if and (not $made) (hasPrefix "KAFKA_SSL" $name) }}{{ $made = "kafka.tls" }}{{ end -}}
{{- $traces := list "OTEL_EXPORTER_OTLP_ENDPOINT" "OTEL_TRACES_EXPORTER" "OTEL_METRICS_EXPORTER" "OTEL_LOGS_EXPORTER" "OTEL_TRACES_SAMPLER" "OTEL_TRACES_SAMPLER_ARG" -}}
{{- if and $.Values.telemetry.otlpEndpoint (has $name $traces) }}{{ $made = "telemetry" }}{{ end -}}
{{- if $made }}{{ fail (printf "%s.%s is made by the chart. Set %s instead" $value $name $made) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Fails for a value that has no meaning where all services share one process. */}}
{{- define "waypost.checkTogether" -}}
{{- $several := list -}}
{{- range $name, $service := .Values.services -}}
{{- if eq $name "all" }}{{ continue }}{{ end -}}
{{- if dig "autoscaling" "enabled" false $service }}{{ fail (printf "services.%s.autoscaling does not go with together=true, which runs one process of all services. Set together=false to scale a service: no data moves" $name) }}{{ end -}}
{{- if gt (int $service.replicas) 1 }}{{ $several = append $several (printf "services.%s.replicas=1" $name) }}{{ end -}}
{{- range $key, $value := dict "image.tag" (dig "image" "tag" "" $service) "env" ($service.env | default dict) "serviceAccount.annotations" (dig "serviceAccount" "annotations" dict $service) -}}
{{- if $value }}{{ fail (printf "services.%s.%s does not go with together=true: all services share one pod. Set %s instead" $name $key (get (dict "image.tag" "image.tag" "env" "settings" "serviceAccount.annotations" "serviceAccount.annotations") $key)) }}{{ end -}}
{{- end -}}
{{- end -}}
{{- if $several }}{{ fail (printf "together=true runs one process of all services, and the values ask for several. Add -f values-small.yaml or --set %s, or set together=false" (join "," (sortAlpha $several))) }}{{ end -}}
{{- if .Values.kafka.sasl.perService }}{{ fail "kafka.sasl.perService does not go with together=true: one process has one environment. Set kafka.sasl.perService=false and use a user that may do what all services may" }}{{ end -}}
{{- if and .Values.networkPolicy.enabled .Values.database.existingSecret (not .Values.networkPolicy.database.to) }}{{ fail "networkPolicy.database.to is empty: with together=true delivery shares the pod of control, and would reach the port of databases at every address. Name the network of your PostgreSQL server: --set-json 'networkPolicy.database.to=[{\"ipBlock\":{\"cidr\":\"10.20.0.0/16\"}}]'" }}{{ end -}}
{{- end }}

{{/* Fails for a login to Kafka that is incomplete, and for a value of it that has no effect. */}}
{{- define "waypost.checkLogin" -}}
{{- $sasl := .Values.kafka.sasl -}}
{{- $byAccount := include "waypost.byAccount" . -}}
{{- if and $sasl.existingSecret (or $byAccount (not $sasl.mechanism)) }}{{ fail (printf "kafka.sasl.existingSecret has no effect: %s" (eq $sasl.mechanism "oauthbearer" | ternary "without kafka.sasl.tokenEndpointUrl the token of the service account logs in" (eq $sasl.mechanism "" | ternary "kafka.sasl.mechanism is empty" "aws-msk-iam logs in as the service account"))) }}{{ end -}}
{{- if and $sasl.mechanism (not $byAccount) (not $sasl.existingSecret) }}{{ fail "kafka.sasl.mechanism needs kafka.sasl.existingSecret" }}{{ end -}}
{{- range list "tokenEndpointUrl" "scope" "audience" "extensions" -}}
{{- if and (get $sasl .) (ne $sasl.mechanism "oauthbearer") }}{{ fail (printf "kafka.sasl.%s has no effect without kafka.sasl.mechanism=oauthbearer" .) }}{{ end -}}
{{- end -}}
{{- if eq $sasl.mechanism "oauthbearer" -}}
{{- if not (or $sasl.tokenEndpointUrl $sasl.audience) }}{{ fail "kafka.sasl.mechanism=oauthbearer needs kafka.sasl.tokenEndpointUrl, or for tokens of the service account kafka.sasl.audience: the audience that the brokers expect" }}{{ end -}}
{{- if and $sasl.scope (not $sasl.tokenEndpointUrl) }}{{ fail "kafka.sasl.scope has no effect without kafka.sasl.tokenEndpointUrl" }}{{ end -}}
{{- end -}}
{{- if eq $sasl.mechanism "aws-msk-iam" -}}
{{- if not .Values.kafka.tls.enabled }}{{ fail "kafka.sasl.mechanism=aws-msk-iam needs kafka.tls.enabled=true" }}{{ end -}}
{{- if not (include "waypost.region" .) }}{{ fail "kafka.sasl.mechanism=aws-msk-iam needs kafka.sasl.region: the first broker has no name of Amazon MSK" }}{{ end -}}
{{- end -}}
{{- if and $byAccount $sasl.perService (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}{{ fail "kafka.sasl.perService needs serviceAccount.create, or serviceAccount.name if accounts NAME-ingest, NAME-router, … exist" }}{{ end -}}
{{- if and .Values.kafka.rack .Values.kafka.rackLabel }}{{ fail "kafka.rack and kafka.rackLabel: set only one of them" }}{{ end -}}
{{- with .Values.topicsJob.acls -}}
{{- if .enabled -}}
{{- if not (and $sasl.perService $sasl.mechanism (ne $sasl.mechanism "aws-msk-iam")) }}{{ fail "topicsJob.acls needs kafka.sasl.perService and a mechanism with Kafka users: ACLs name a user for each service" }}{{ end -}}
{{- if and (not $byAccount) (not .adminSecret) }}{{ fail "topicsJob.acls needs topicsJob.acls.adminSecret: a secret with username and password of an administrator of the cluster" }}{{ end -}}
{{- if and .scramUsers (not (hasPrefix "scram" $sasl.mechanism)) }}{{ fail "topicsJob.acls.scramUsers needs a mechanism scram-sha-256 or scram-sha-512" }}{{ end -}}
{{- end -}}
{{- end -}}
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

{{/* The secret with a service's Kafka user and password, and their keys. The topics job that creates ACLs is an administrator. */}}
{{- define "waypost.isAdmin" -}}
{{- if and (eq .service "topics") .root.Values.topicsJob.acls.enabled .root.Values.topicsJob.acls.adminSecret }}true{{ end -}}
{{- end }}
{{- define "waypost.saslSecret" -}}
{{- if include "waypost.isAdmin" . }}{{ .root.Values.topicsJob.acls.adminSecret }}{{ else }}{{ .root.Values.kafka.sasl.existingSecret }}{{ end -}}
{{- end }}
{{- define "waypost.saslKey" -}}
{{- if and .root.Values.kafka.sasl.perService (not (include "waypost.isAdmin" .)) }}{{ .service }}-{{ .key }}{{ else }}{{ .key }}{{ end -}}
{{- end }}

{{/*
"true" if the password is mounted as a file, which each new connection reads again. A service with a tag of its own gets
it as a variable: its version may be one that knows no file.
*/}}
{{- define "waypost.passwordFile" -}}
{{- $pinned := dig "image" "tag" "" (get .root.Values.services .service | default dict) -}}
{{- if and .root.Values.kafka.sasl.mechanism (not (include "waypost.byAccount" .root)) (not $pinned) }}true{{ end -}}
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
{{- with $values.kafka.sasl }}
{{- if .mechanism }}
- { name: KAFKA_SASL_MECHANISM, value: {{ .mechanism | quote }} }
{{- if not (include "waypost.byAccount" $.root) }}
{{- range $key := eq (include "waypost.passwordFile" $) "true" | ternary (list "username") (list "username" "password") }}
- name: KAFKA_SASL_{{ upper $key }}
  valueFrom:
    secretKeyRef:
      name: {{ include "waypost.saslSecret" $ }}
      key: {{ include "waypost.saslKey" (merge (dict "key" $key) $) }}
{{- end }}
{{- if include "waypost.passwordFile" $ }}
- { name: KAFKA_SASL_PASSWORD_FILE, value: /etc/waypost/kafka-user/password }
{{- end }}
{{- end }}
{{- if eq .mechanism "oauthbearer" }}
- { name: KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL, value: {{ .tokenEndpointUrl | default "file:///var/run/secrets/kafka/token" | quote }} }
{{- with .scope }}
- { name: KAFKA_SASL_OAUTHBEARER_SCOPE, value: {{ . | quote }} }
{{- end }}
{{- if and .audience .tokenEndpointUrl }}
- { name: KAFKA_SASL_OAUTHBEARER_AUDIENCE, value: {{ .audience | quote }} }
{{- end }}
{{- with include "waypost.pairs" $.root.Values.kafka.sasl.extensions }}
- { name: KAFKA_SASL_OAUTHBEARER_EXTENSIONS, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- with .region }}
- { name: AWS_REGION, value: {{ . | quote }} }
{{- end }}
{{- end }}
{{- end }}
{{- if ne .service "topics" }}
{{- with $values.kafka.rack }}
- { name: KAFKA_CLIENT_RACK, value: {{ . | quote }} }
{{- end }}
{{- with $values.kafka.rackLabel }}
# Without this label the variable is empty, and consumers read from the leader.
- { name: KAFKA_CLIENT_RACK, valueFrom: { fieldRef: { fieldPath: "metadata.labels['{{ . }}']" } } }
{{- end }}
{{- end }}
- { name: WAYPOST_TOPIC_PREFIX, value: {{ $values.kafka.topicPrefix | quote }} }
- { name: WAYPOST_PARTITIONS, value: {{ $values.kafka.partitions | quote }} }
- { name: WAYPOST_REPLICATION, value: {{ $values.kafka.replication | quote }} }
{{- if $values.kafka.retention }}
- { name: WAYPOST_TOPIC_RETENTION, value: {{ include "waypost.pairs" $values.kafka.retention | quote }} }
{{- end }}
- { name: WAYPOST_DATA_DIR, value: /var/lib/waypost }
{{- if eq .service "control" }}
# `waypost doctor` in this pod asks every service.
- { name: WAYPOST_HEALTH_HOST, value: {{ printf "%s-{service}-health" (include "waypost.name" .root) | quote }} }
{{- end }}
{{- /* Control warns of URLs that delivery will refuse. */}}
{{- if and $values.allowedNetworks (has .service (list "delivery" "control" "all")) }}
- { name: WAYPOST_ALLOWED_NETWORKS, value: {{ join "," $values.allowedNetworks | quote }} }
{{- end }}
{{- if has .service (list "delivery" "control" "all") }}
- name: WAYPOST_SECRET_KEY
  valueFrom: { secretKeyRef: { name: {{ $values.secrets.existingSecret }}, key: secret-key } }
{{- end }}
{{- if has .service (list "control" "all") }}
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
{{- range include "waypost.files" . | fromYamlArray }}
- { name: {{ .name }}, mountPath: {{ .path }}, readOnly: true }
{{- end }}
{{- end }}

{{- define "waypost.volumes" -}}
- { name: tmp, emptyDir: {} }
{{- range include "waypost.files" . | fromYamlArray }}
- {{ merge (dict "name" .name) .volume | toJson }}
{{- end }}
{{- end }}

{{/* The files for the login to Kafka: name, path and volume of each. The kubelet renews them without a restart. */}}
{{- define "waypost.files" -}}
{{- $kafka := .root.Values.kafka -}}
{{- if and $kafka.tls.enabled $kafka.tls.caSecret }}
- { name: kafka-ca, path: /etc/waypost/kafka-ca, volume: { secret: { secretName: {{ $kafka.tls.caSecret }} } } }
{{- end }}
{{- if and $kafka.tls.enabled $kafka.tls.clientSecret }}
- { name: kafka-client, path: /etc/waypost/kafka-client, volume: { secret: { secretName: {{ $kafka.tls.clientSecret }} } } }
{{- end }}
{{- if include "waypost.passwordFile" . }}
{{- $items := list (dict "key" (include "waypost.saslKey" (merge (dict "key" "password") .)) "path" "password") }}
{{- if and (include "waypost.isAdmin" .) .root.Values.topicsJob.acls.scramUsers }}{{ $items = append $items (dict "key" "users.txt" "path" "users.txt") }}{{ end }}
- { name: kafka-user, path: /etc/waypost/kafka-user, volume: { secret: { secretName: {{ include "waypost.saslSecret" . }}, items: {{ toJson $items }} } } }
{{- end }}
{{- if and (eq $kafka.sasl.mechanism "oauthbearer") (include "waypost.byAccount" .root) }}
{{- $token := dict "path" "token" "audience" $kafka.sasl.audience "expirationSeconds" 3600 }}
- { name: kafka-token, path: /var/run/secrets/kafka, volume: { projected: { sources: [{ serviceAccountToken: {{ toJson $token }} }] } } }
{{- end }}
{{- end }}
