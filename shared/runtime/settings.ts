import { z } from 'zod';
import { AppError } from './errors';
import { retentionProblems, topicRetention } from './retention';
import { suggestion } from './suggestion';
import {
  dnsServers,
  duration,
  durationOrZero,
  extensions,
  fingerprints,
  flag,
  integer,
  list,
  networks,
  port,
  ports,
  proxyUrl,
  retryDelays,
  secretKeys,
  smtpUrl,
} from './setting-types';

/**
 * All settings of all services, so that one environment works for all of them and each refuses an
 * unknown setting. Units are in the names of the parsed values.
 */

const table = {
  KAFKA_BROKERS: list.optional(),
  KAFKA_SSL: flag.default(false),
  KAFKA_SSL_CA_FILE: z.string().optional(),
  KAFKA_SSL_CERT_FILE: z.string().optional(),
  KAFKA_SSL_KEY_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer', 'aws-msk-iam'], {
      error: 'must be plain, scram-sha-256, scram-sha-512, oauthbearer or aws-msk-iam',
    })
    .optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  KAFKA_SASL_PASSWORD_FILE: z.string().optional(),
  KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL: z
    .url({
      protocol: /^(https?|file)$/,
      error: 'must be an address such as https://login.example.com/oauth2/token',
    })
    .optional(),
  KAFKA_SASL_OAUTHBEARER_SCOPE: z.string().optional(),
  KAFKA_SASL_OAUTHBEARER_AUDIENCE: z.string().optional(),
  KAFKA_SASL_OAUTHBEARER_EXTENSIONS: extensions.optional(),
  KAFKA_CLIENT_RACK: z.string().optional(),
  AWS_REGION: z.string().optional(),
  WAYPOST_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,100}$/, 'may hold letters, digits, dot, hyphen and underscore only')
    .default(''),
  WAYPOST_PARTITIONS: integer(1, 1000).default(12),
  WAYPOST_REPLICATION: integer(1, 9).optional(),
  WAYPOST_TOPIC_RETENTION: topicRetention.prefault(''),
  WAYPOST_HOST: z.string().default('0.0.0.0'),
  WAYPOST_INGEST_PORT: port(8080),
  WAYPOST_CONTROL_PORT: port(8090),
  WAYPOST_INGEST_URL: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://in.example.com' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  WAYPOST_INGEST_PROCESSES: integer(1, 1_000).default(1),
  WAYPOST_INGEST_KEEP_ALIVE: duration('75s'),
  WAYPOST_SOURCE_MAX_PER_SECOND: integer(1, 1_000_000).default(10_000),
  WAYPOST_TRUSTED_PROXIES: networks.prefault(''),
  WAYPOST_INGEST_HEALTH_PORT: port(9401),
  WAYPOST_ROUTER_HEALTH_PORT: port(9402),
  WAYPOST_DELIVERY_HEALTH_PORT: port(9403),
  WAYPOST_RETRY_HEALTH_PORT: port(9404),
  WAYPOST_CONTROL_HEALTH_PORT: port(9405),
  WAYPOST_AUDIENCES_HEALTH_PORT: port(9406),
  WAYPOST_CONTROL_CONNECTIONS: integer(16, 100_000).default(1_024),
  WAYPOST_DATA_DIR: z.string().min(1).default('.waypost'),
  WAYPOST_ADMIN_TOKEN: z.string().min(16, 'must have at least 16 characters').optional(),
  WAYPOST_SECRET_KEY: secretKeys.optional(),
  WAYPOST_GENERATE_SECRETS: flag.default(true),
  WAYPOST_DATABASE_URL: z
    .string()
    // The message never repeats the value, because it may hold a password.
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional(),
  WAYPOST_HISTORY_RETENTION: duration('30d'),
  WAYPOST_HISTORY_MAX_MB: integer(64, 100_000_000).optional(),
  WAYPOST_SEARCH_RETENTION: durationOrZero('2d'),
  WAYPOST_ALLOWED_NETWORKS: networks.prefault(''),
  WAYPOST_FORBIDDEN_NETWORKS: networks.prefault(''),
  WAYPOST_ALLOWED_PORTS: ports.prefault(''),
  WAYPOST_EGRESS_PROXY: proxyUrl.optional(),
  WAYPOST_PROXY_RESOLVES: flag.default(false),
  WAYPOST_DNS_SERVERS: dnsServers.prefault(''),
  WAYPOST_DISTRUSTED_ROOTS: fingerprints.prefault(''),
  WAYPOST_TIMEOUT: duration('5s'),
  WAYPOST_RETRY_WINDOW: duration('4h'),
  WAYPOST_RETRY_DELAYS: retryDelays.prefault('10s,1m,5m,15m,30m'),
  WAYPOST_SMTP_URL: smtpUrl.optional(),
  WAYPOST_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .default('info'),
  WAYPOST_KAFKA: z.enum(['java', 'container'], { error: 'must be java or container' }).optional(),
  WAYPOST_OFFLINE: flag.default(false),
  WAYPOST_MAVEN_MIRROR: z
    // The message never repeats the value, because it may hold a password.
    .url({
      protocol: /^https?$/,
      error: 'must be an address such as https://mirror.example.com/maven',
    })
    .transform((url) => `${url.replace(/\/+$/, '')}/`)
    .optional(),
};

export const settingsSchema = z.object(table);

/**
 * Settings of the command line only (cli/), which a service accepts in its environment and ignores.
 */
const COMMAND_LINE: readonly string[] = [
  'WAYPOST_URL',
  'WAYPOST_TOKEN',
  'WAYPOST_WRITE_KEY',
  'WAYPOST_SHARED_SECRET',
  'WAYPOST_ENDPOINT_AUTH',
  'WAYPOST_HEALTH_HOST',
];

/** The parsed settings. Durations are in milliseconds, keys are buffers, lists are arrays. */
export type Settings = z.infer<typeof settingsSchema>;

/**
 * Reads and checks the environment.
 * @throws AppError `bad_settings` that lists every mistake, one line each, without any secret.
 */
export function loadSettings(env: Record<string, string | undefined>): Settings {
  const known = Object.fromEntries(
    Object.keys(table).map((name) => [name, env[name] === '' ? undefined : env[name]]),
  );
  const mistakes = Object.keys(env)
    .filter(
      (name) =>
        /^(WAYPOST|KAFKA_SASL_OAUTHBEARER)_/.test(name) &&
        !(name in table) &&
        !COMMAND_LINE.includes(name),
    )
    .map((name) => `${name}: there is no such setting${suggestion(name, Object.keys(table))}`);

  const parsed = settingsSchema.safeParse(known);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) {
      mistakes.push(`${issue.path.join('.')}: ${issue.message}`);
    }
  } else {
    mistakes.push(...contradictions(parsed.data));
    if (mistakes.length === 0) return parsed.data;
  }
  throw new AppError('bad_settings', `These settings are wrong:\n  ${mistakes.join('\n  ')}`);
}

/**
 * Returns the brokers for a service that needs a running Kafka. @throws AppError `bad_settings`
 * without KAFKA_BROKERS.
 */
export function requireBrokers(settings: Settings): string[] {
  if (!settings.KAFKA_BROKERS || settings.KAFKA_BROKERS.length === 0) {
    throw new AppError(
      'bad_settings',
      'KAFKA_BROKERS is not set. Give it the address of a Kafka broker (host:port).',
    );
  }
  return settings.KAFKA_BROKERS;
}

/**
 * Returns the keys for a service that decrypts secrets of `config`. @throws AppError `bad_settings`
 * without WAYPOST_SECRET_KEY.
 */
export function requireSecretKeys(settings: Settings): Buffer[] {
  if (settings.WAYPOST_SECRET_KEY) return settings.WAYPOST_SECRET_KEY;
  throw new AppError(
    'bad_settings',
    'WAYPOST_SECRET_KEY is not set. Give all services the same key: 32 random bytes in ' +
      'base64 (openssl rand -base64 32).',
  );
}

function contradictions(settings: Settings): string[] {
  const mistakes = [...tlsMistakes(settings), ...saslMistakes(settings)];
  const { WAYPOST_TOPIC_RETENTION: retention, WAYPOST_RETRY_WINDOW: windowMs } = settings;
  mistakes.push(...retentionProblems(retention, windowMs, 'WAYPOST_RETRY_WINDOW'));
  for (const broker of settings.KAFKA_BROKERS ?? []) {
    if (!/^(\[[0-9a-fA-F:]+\]|[^:\s/]+):\d{1,5}$/.test(broker)) {
      mistakes.push(
        `KAFKA_BROKERS: must be host:port, several separated by commas, not "${broker}"`,
      );
    }
  }
  return mistakes;
}

function tlsMistakes(settings: Settings): string[] {
  const mistakes: string[] = [];
  const files = ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'] as const;
  // Otherwise a system meant to use TLS would run without it.
  const unused = settings.KAFKA_SSL ? [] : files.filter((file) => settings[file]);
  if (unused.length > 0) mistakes.push(`${unused.join(', ')}: needs KAFKA_SSL=true beside it`);
  if (!settings.KAFKA_SSL_CERT_FILE !== !settings.KAFKA_SSL_KEY_FILE) {
    mistakes.push('KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE: one needs the other');
  }
  return mistakes;
}

const USER = ['KAFKA_SASL_USERNAME', 'KAFKA_SASL_PASSWORD', 'KAFKA_SASL_PASSWORD_FILE'] as const;
const ENDPOINT = 'KAFKA_SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL';
const BEARER = [
  ENDPOINT,
  'KAFKA_SASL_OAUTHBEARER_SCOPE',
  'KAFKA_SASL_OAUTHBEARER_AUDIENCE',
  'KAFKA_SASL_OAUTHBEARER_EXTENSIONS',
] as const;

function saslMistakes(settings: Settings): string[] {
  const { KAFKA_SASL_MECHANISM: mechanism, [ENDPOINT]: endpoint } = settings;
  const mistakes: string[] = [];
  const ofBearer = given(settings, BEARER);
  if (ofBearer && mechanism !== 'oauthbearer') {
    mistakes.push(`${ofBearer}: needs KAFKA_SASL_MECHANISM=oauthbearer beside it`);
  }
  if (mechanism === 'oauthbearer' && !endpoint) {
    mistakes.push(`KAFKA_SASL_MECHANISM: oauthbearer needs ${ENDPOINT} beside it`);
  }
  if (mechanism === 'aws-msk-iam' && !(settings.KAFKA_SSL && awsRegion(settings))) {
    mistakes.push(
      'KAFKA_SASL_MECHANISM: aws-msk-iam needs KAFKA_SSL=true and AWS_REGION beside it',
    );
  }
  return [...mistakes, ...userMistakes(settings)];
}

function userMistakes(settings: Settings): string[] {
  const { KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_USERNAME: username } = settings;
  const ofUser = given(settings, USER);
  if (mechanism === 'aws-msk-iam' || settings[ENDPOINT]?.startsWith('file:')) {
    return ofUser
      ? [`${ofUser}: has no effect here; ${mechanism ?? ''} takes its token from elsewhere`]
      : [];
  }
  // Otherwise a system meant to authenticate would connect without it.
  if (mechanism === undefined) {
    return ofUser ? [`${ofUser}: needs KAFKA_SASL_MECHANISM beside it`] : [];
  }
  if (settings.KAFKA_SASL_PASSWORD && settings.KAFKA_SASL_PASSWORD_FILE) {
    return ['KAFKA_SASL_PASSWORD and KAFKA_SASL_PASSWORD_FILE: give only one of them'];
  }
  if (username && given(settings, USER.slice(1))) return [];
  const what = mechanism === 'oauthbearer' ? ' (client id and secret)' : '';
  return [
    `KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD${what} beside ` +
      'it; KAFKA_SASL_PASSWORD_FILE can replace the password',
  ];
}

/** Returns which of these settings are set, as text. */
function given(settings: Settings, names: readonly (keyof Settings)[]): string {
  return names.filter((name) => settings[name]).join(', ');
}

/**
 * Returns the region of an Amazon MSK cluster, from the names of its brokers or from AWS_REGION.
 */
export function awsRegion(
  settings: Pick<Settings, 'KAFKA_BROKERS' | 'AWS_REGION'>,
): string | undefined {
  const [broker = ''] = settings.KAFKA_BROKERS ?? [];
  return (
    /\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?:\d+$/.exec(broker)?.[1] ??
    settings.AWS_REGION
  );
}
