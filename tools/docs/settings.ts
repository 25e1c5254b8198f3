import { type Settings, settingsSchema } from '../../shared/runtime/settings';
import { z } from 'zod';
import { markdownTable } from '../harness/table';

/**
 * The tables of docs/reference/settings.md: defaults come from shared/runtime/settings.ts, meanings
 * from here.
 */

interface Meaning {
  text: string;
  /**
   * replaces the default of the schema if a setting has another under `npm start` or is computed
   */
  default?: string;
}
type Meanings = Partial<Record<keyof Settings, string | Meaning>>;

const KAFKA = {
  KAFKA_BROKERS: {
    text: 'Brokers as `host:port`, separated by commas.',
    default: 'the embedded Kafka under `npm start`; otherwise required',
  },
  KAFKA_SSL: 'Use TLS to the brokers.',
  KAFKA_SSL_CA_FILE: {
    text:
      'PEM file with your certificate authority. It replaces the authorities that Node ' +
      'knows. Requires `KAFKA_SSL=true`.',
    default: 'the authorities that Node knows',
  },
  KAFKA_SSL_CERT_FILE:
    'PEM file with the client certificate. Requires `KAFKA_SSL=true` and `KAFKA_SSL_KEY_FILE`.',
  KAFKA_SSL_KEY_FILE: 'PEM file with the key of the client certificate.',
  KAFKA_SASL_MECHANISM:
    '`plain`, `scram-sha-256`, `scram-sha-512`, `oauthbearer` (client credentials) or ' +
    '`aws-msk-iam`. See [Logging in to ' +
    'Kafka](../operations/security.md#logging-in-to-kafka).',
  KAFKA_SASL_USERNAME: 'User of the service; with `oauthbearer` the client id.',
  KAFKA_SASL_PASSWORD: 'Password of the user; with `oauthbearer` the client secret.',
  KAFKA_SASL_PASSWORD_FILE:
    'File with the password, in place of `KAFKA_SASL_PASSWORD`. Each new connection reads it again.',
  KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL:
    'Token endpoint of the identity provider. With `file:///…` the token comes from that ' +
    'file, which another process renews.',
  KAFKA_SASL_OAUTHBEARER_SCOPE: 'Scope of the token.',
  KAFKA_SASL_OAUTHBEARER_AUDIENCE: 'Audience of the token, for providers that require it.',
  KAFKA_SASL_OAUTHBEARER_EXTENSIONS:
    'Pairs sent to the broker with the token, such as `logicalCluster=lkc-1,identityPoolId=pool-1`.',
  KAFKA_CLIENT_RACK: {
    text:
      'Zone of this process. Consumers then fetch from the replica in that zone, if the ' +
      'brokers allow it.',
    default: 'none: from the leader',
  },
  AWS_REGION: {
    text: 'Region of the Amazon MSK cluster, with `aws-msk-iam`.',
    default: 'the region in the name of the first broker',
  },
  WAYPOST_TOPIC_PREFIX:
    'Prefix of all topics and groups, so that several installations can share a cluster.',
  WAYPOST_PARTITIONS: 'Partitions of a topic that Waypost creates.',
  WAYPOST_REPLICATION: {
    text: 'Replicas of a topic that Waypost creates. With 3, `min.insync.replicas` is 2.',
    default: '1 with the embedded Kafka, otherwise 3',
  },
  WAYPOST_TOPIC_RETENTION: {
    text:
      'Time for which topics keep records: `messages=3d,webhooks=1d,attempts=1d`. Existing ' +
      'topics change too. See [Retention](../operations/topics.md#retention).',
    default: '7d each',
  },
} satisfies Meanings;

const NETWORK = {
  WAYPOST_HOST: {
    text: 'Address on which ingest, control and the health ports listen.',
    default: '`127.0.0.1` under `npm start`, otherwise `0.0.0.0`',
  },
  WAYPOST_INGEST_PORT: 'Port of ingest.',
  WAYPOST_CONTROL_PORT: 'Port of the control API and the console.',
  WAYPOST_INGEST_URL: {
    text: 'Address at which clients reach ingest. The console shows it in the code to copy.',
    default: 'the host of the console, with the port of ingest',
  },
  WAYPOST_INGEST_HEALTH_PORT: 'Port of `/livez`, `/readyz` and `/metrics` of ingest.',
  WAYPOST_ROUTER_HEALTH_PORT: 'The same for the router.',
  WAYPOST_DELIVERY_HEALTH_PORT: 'The same for delivery.',
  WAYPOST_RETRY_HEALTH_PORT: 'The same for retry.',
  WAYPOST_CONTROL_HEALTH_PORT: 'The same for control.',
  WAYPOST_AUDIENCES_HEALTH_PORT: 'The same for audiences.',
  WAYPOST_CONTROL_CONNECTIONS:
    'Open connections of control. One address gets at most two thirds of them. An open page of ' +
    'the console takes up to six.',
  WAYPOST_TRUSTED_PROXIES: {
    text:
      'Networks of proxies whose `X-Forwarded-For` counts, such as `10.0.0.0/8`, separated ' +
      'by commas.',
    default: 'none',
  },
} satisfies Meanings;

const INGEST = {
  WAYPOST_SOURCE_MAX_PER_SECOND:
    'Calls a second of a source for which you set no [limits](../operations/ingest-limits.md).',
  WAYPOST_INGEST_KEEP_ALIVE:
    'Time for which ingest keeps a connection without a request. It must be longer than ' +
    'that of your [load balancer](../operations/ingest-limits.md#behind-a-load-balancer).',
  WAYPOST_INGEST_PROCESSES: 'Number of ingest processes. They share the limits of the sources.',
} satisfies Meanings;

const DELIVERY = {
  WAYPOST_ALLOWED_NETWORKS: {
    text: 'Private networks that webhooks may reach, such as `10.1.0.0/16`, separated by commas.',
    default: 'none; loopback under `npm start`',
  },
  WAYPOST_FORBIDDEN_NETWORKS: {
    text:
      'Networks that webhooks may not reach, even if public or allowed, such as ' +
      '`203.0.113.0/24`, separated by commas.',
    default: 'none',
  },
  WAYPOST_ALLOWED_PORTS: {
    text:
      'Ports of webhooks, such as `80,443,1024-65535`. See ' +
      '[egress](../operations/security.md#egress).',
    default: 'all',
  },
  WAYPOST_EGRESS_PROXY: {
    text:
      'Proxy of all webhooks without a `proxy` of their own: ' +
      '`http://user:password@host:port` or `socks5://…`.',
    default: 'none',
  },
  WAYPOST_PROXY_RESOLVES:
    'Whether egress proxies resolve the hosts of webhooks. `true` leaves the check of ' +
    'their addresses to the proxies.',
  WAYPOST_DNS_SERVERS: {
    text:
      'Name servers for the hosts of webhooks, in this order, such as `10.0.0.2` or ' +
      '`10.0.0.2:5353`.',
    default: 'the name servers of the system',
  },
  WAYPOST_TIMEOUT: 'Time for one request to a webhook, DNS and TLS included.',
  WAYPOST_SMTP_URL: {
    text:
      'Mail server for [alerts by e-mail](../operations/alerts.md#alerts-by-e-mail), such as ' +
      '`smtps://user:password@mail.example.com?from=waypost@example.com`. Delivery sends ' +
      'them; control needs it too, and refuses addresses without it. Mails go over TLS only, ' +
      'except with `?tls=off`, which excludes a password.',
    default: 'no e-mail',
  },
  WAYPOST_RETRY_WINDOW: 'Time after which delivery gives up a delivery.',
  WAYPOST_RETRY_DELAYS: 'Delays between attempts. The last delay repeats until the window closes.',
} satisfies Meanings;

const CONTROL = {
  WAYPOST_ADMIN_TOKEN: {
    text: 'Token of the administrator of the control API: at least 16 random characters.',
    default: 'generated under `npm start`',
  },
  WAYPOST_SECRET_KEY: {
    text:
      '32 bytes in base64. You can give several keys, separated by commas: the first ' +
      'encrypts, all decrypt.',
    default: 'generated under `npm start`',
  },
  WAYPOST_GENERATE_SECRETS:
    'Whether delivery and control create a missing token and key in `WAYPOST_DATA_DIR`. ' +
    '`false` in the image: there they refuse to start.',
  WAYPOST_DATABASE_URL: {
    text: 'PostgreSQL server for the history: `postgres://user:password@host/name`.',
    default: 'an embedded PostgreSQL in the data directory',
  },
  WAYPOST_SEARCH_RETENTION:
    'Time for which the bodies of deliveries are searchable; at most as long as Kafka ' +
    'keeps bodies (`webhooks`, 7d). `0s` switches the search off.',
  WAYPOST_HISTORY_RETENTION: 'Time for which the history keeps a delivery.',
  WAYPOST_HISTORY_MAX_MB: {
    text: 'Maximum size of the history, in megabytes.',
    default: '2048 embedded, 102400 on a server',
  },
} satisfies Meanings;

const ALL_SERVICES = {
  WAYPOST_DISTRUSTED_ROOTS: {
    text:
      'SHA-256 fingerprints of certificate authorities that no connection trusts, separated ' +
      'by commas, beside the built-in ones. See [Authorities that are left ' +
      'out](../operations/security.md#authorities-that-are-left-out).',
    default: 'the built-in ones only',
  },
  WAYPOST_DATA_DIR:
    'Directory of the embedded Kafka, the embedded history, the stores of audiences, the ' +
    'generated token and the generated key.',
  WAYPOST_LOG_LEVEL: '`trace`, `debug`, `info`, `warn`, `error`, `fatal` or `silent`.',
} satisfies Meanings;

const STANDALONE = {
  WAYPOST_KAFKA: {
    text:
      '`java`: run the embedded Kafka on Java, never in a container. `container`: run it in ' +
      'a container.',
    default: 'Java, otherwise a container',
  },
  WAYPOST_OFFLINE:
    'Download nothing at the first start: neither the jars of Kafka nor a Java runtime.',
  WAYPOST_MAVEN_MIRROR: {
    text:
      'Maven repository for the jars of Kafka: `https://user:password@host/path`. Maven ' +
      'itself is then not used.',
    default: 'the mirrors that Maven knows, otherwise Maven Central',
  },
} satisfies Meanings;

const GROUPS = {
  Kafka: KAFKA,
  'Addresses and ports': NETWORK,
  Ingest: INGEST,
  Delivery: DELIVERY,
  'Control and secrets': CONTROL,
  'Every service': ALL_SERVICES,
  'The embedded Kafka of `npm start`': STANDALONE,
};

/** Fails to compile if a setting has no meaning. */
({
  ...KAFKA,
  ...NETWORK,
  ...INGEST,
  ...DELIVERY,
  ...CONTROL,
  ...ALL_SERVICES,
  ...STANDALONE,
}) satisfies Record<keyof Settings, string | Meaning>;

export function settingsTables(): string {
  return Object.entries<Meanings>(GROUPS)
    .map(([title, meanings]) => {
      const rows = Object.entries(meanings).map(([name, meaning]) =>
        row(name as keyof Settings, meaning),
      );
      return `### ${title}\n\n${markdownTable([['setting', 'default', 'meaning'], ...rows])}`;
    })
    .join('\n\n');
}

function row(name: keyof Settings, meaning: string | Meaning): string[] {
  const { text, default: noted } = typeof meaning === 'string' ? { text: meaning } : meaning;
  return [`\`${name}\``, noted ?? defaultOf(name), text];
}

/** Formats the default as an operator writes it: `5s`, not 5000. */
function defaultOf(name: keyof Settings): string {
  const written = z.toJSONSchema(settingsSchema, { io: 'input', unrepresentable: 'any' })
    .properties?.[name];
  const asText = typeof written === 'object' ? written.default : undefined;
  const value = asText ?? settingsSchema.shape[name].safeParse(undefined).data;
  if (value === undefined || value === '') return 'none';
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;
}
