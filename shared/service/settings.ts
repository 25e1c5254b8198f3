import { isIP } from 'node:net';
import { z } from 'zod';
import ipaddr from 'ipaddr.js';
import { parseDuration } from '../model/duration';
import { AppError } from './errors';

/**
 * All settings of all services, so that one environment works for all of them and each refuses an unknown setting. Units
 * are in the names of the parsed values.
 */

const duration = (text: string) =>
  z
    .string()
    .default(text)
    .transform((value, ctx) => {
      const ms = parseDuration(value);
      if (ms === undefined || ms === 0) {
        ctx.addIssue({ code: 'custom', message: `must be a duration such as 500ms, 5s, 10m or 4h, not "${value}"` });
        return z.NEVER;
      }
      return ms;
    });

const integer = (min: number, max: number) =>
  z.string().transform((value, ctx) => {
    const number = /^\d{1,9}$/.test(value) ? Number(value) : NaN;
    if (!(number >= min && number <= max)) {
      ctx.addIssue({
        code: 'custom',
        message: `must be a whole number from ${String(min)} to ${String(max)}, not "${value}"`,
      });
      return z.NEVER;
    }
    return number;
  });

const port = (value: number) => integer(0, 65_535).default(value);

const list = z.string().transform((value) =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
);

const flag = z.enum(['true', 'false'], { error: 'must be true or false' }).transform((value) => value === 'true');

const retryDelays = list.transform((parts, ctx) => {
  const ms = parts.map(parseDuration);
  const bad = parts.filter((_, i) => !ms[i]);
  if (bad.length > 0 || parts.length === 0 || parts.length > 16) {
    ctx.addIssue({
      code: 'custom',
      message: `must be 1 to 16 durations such as 10s,1m,5m${bad.length > 0 ? `; these are not: ${bad.join(', ')}` : ''}`,
    });
    return z.NEVER;
  }
  return ms as number[];
});

const networks = list.transform((parts, ctx) => {
  const bad = parts.filter((part) => !ipaddr.isValidCIDR(part));
  if (bad.length > 0) {
    ctx.addIssue({
      code: 'custom',
      message: `must be networks such as 10.1.0.0/16 or fd00::/8, not ${bad.join(', ')}`,
    });
  }
  return parts;
});

/** `10.0.0.2`, `10.0.0.2:5353`, `fd00::2`, `[fd00::2]:5353`: an address, and a port other than 53. */
const DNS_SERVER = /^(?:\[(?<six>[^\]]+)\]|(?<four>[\d.]+)):(?<port>\d{1,5})$/;
const dnsServers = list.transform((parts, ctx) => {
  const bad = parts.filter((part) => {
    const { six, four, port: at = '53' } = DNS_SERVER.exec(part)?.groups ?? {};
    // Node does not refuse other ports: it uses another one, or aborts.
    return isIP(six ?? four ?? part) === 0 || !(Number(at) >= 1 && Number(at) <= 65_535);
  });
  if (bad.length > 0) {
    ctx.addIssue({
      code: 'custom',
      message: `must be addresses such as 10.0.0.2, 10.0.0.2:5353 or [fd00::2]:5353, not ${bad.join(', ')}`,
    });
  }
  return parts;
});

const secretKeys = list.transform((parts, ctx) => {
  const keys = parts.map((part) => Buffer.from(part, 'base64'));
  // The message never repeats the value, because it is a secret.
  if (keys.length === 0 || keys.some((key) => key.length !== 32)) {
    ctx.addIssue({ code: 'custom', message: 'must be one or more keys of 32 bytes in base64, separated by commas' });
  }
  return keys;
});

const table = {
  KAFKA_BROKERS: list.optional(),
  KAFKA_SSL: flag.default(false),
  KAFKA_SSL_CA_FILE: z.string().optional(),
  KAFKA_SSL_CERT_FILE: z.string().optional(),
  KAFKA_SSL_KEY_FILE: z.string().optional(),
  KAFKA_SASL_MECHANISM: z
    .enum(['plain', 'scram-sha-256', 'scram-sha-512'], { error: 'must be plain, scram-sha-256 or scram-sha-512' })
    .optional(),
  KAFKA_SASL_USERNAME: z.string().optional(),
  KAFKA_SASL_PASSWORD: z.string().optional(),
  WAYPOST_TOPIC_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]{0,100}$/, 'may hold letters, digits, dot, hyphen and underscore only')
    .default(''),
  WAYPOST_PARTITIONS: integer(1, 1000).default(12),
  WAYPOST_REPLICATION: integer(1, 9).optional(),
  WAYPOST_HOST: z.string().default('0.0.0.0'),
  WAYPOST_INGEST_PORT: port(8080),
  WAYPOST_CONTROL_PORT: port(8090),
  WAYPOST_INGEST_URL: z
    .url({ protocol: /^https?$/, error: 'must be an address such as https://in.example.com' })
    .transform((url) => url.replace(/\/+$/, ''))
    .optional(),
  WAYPOST_INGEST_PROCESSES: integer(1, 1_000).default(1),
  WAYPOST_SOURCE_MAX_PER_SECOND: integer(1, 1_000_000).default(10_000),
  WAYPOST_TRUSTED_PROXIES: networks.prefault(''),
  WAYPOST_INGEST_HEALTH_PORT: port(9401),
  WAYPOST_ROUTER_HEALTH_PORT: port(9402),
  WAYPOST_DELIVERY_HEALTH_PORT: port(9403),
  WAYPOST_RETRY_HEALTH_PORT: port(9404),
  WAYPOST_CONTROL_HEALTH_PORT: port(9405),
  WAYPOST_AUDIENCES_HEALTH_PORT: port(9406),
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
  WAYPOST_ALLOWED_NETWORKS: networks.prefault(''),
  WAYPOST_DNS_SERVERS: dnsServers.prefault(''),
  WAYPOST_TIMEOUT: duration('5s'),
  WAYPOST_RETRY_WINDOW: duration('4h'),
  WAYPOST_RETRY_DELAYS: retryDelays.prefault('10s,1m,5m,15m,30m'),
  WAYPOST_LOG_LEVEL: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], {
      error: 'must be trace, debug, info, warn, error, fatal or silent',
    })
    .default('info'),
  WAYPOST_KAFKA: z.enum(['java', 'container'], { error: 'must be java or container' }).optional(),
  WAYPOST_OFFLINE: flag.default(false),
  WAYPOST_MAVEN_MIRROR: z
    // The message never repeats the value, because it may hold a password.
    .url({ protocol: /^https?$/, error: 'must be an address such as https://mirror.example.com/maven' })
    .transform((url) => `${url.replace(/\/+$/, '')}/`)
    .optional(),
};

export const settingsSchema = z.object(table);

/** Settings of the command line only (cli/), which a service accepts in its environment and ignores. */
const COMMAND_LINE: readonly string[] = ['WAYPOST_URL', 'WAYPOST_TOKEN', 'WAYPOST_WRITE_KEY', 'WAYPOST_SHARED_SECRET'];

/** The parsed settings. Durations are in milliseconds, keys are buffers, lists are arrays. */
export type Settings = z.infer<typeof settingsSchema>;

/**
 * Reads and checks the environment.
 * @throws AppError `bad_settings` that lists every mistake, one line each, without any secret.
 */
export function loadSettings(env: Record<string, string | undefined>): Settings {
  const known = Object.fromEntries(Object.keys(table).map((name) => [name, env[name] === '' ? undefined : env[name]]));
  const mistakes = Object.keys(env)
    .filter((name) => name.startsWith('WAYPOST_') && !(name in table) && !COMMAND_LINE.includes(name))
    .map((name) => `${name}: there is no such setting${suggestion(name)}`);

  const parsed = settingsSchema.safeParse(known);
  if (!parsed.success) {
    for (const issue of parsed.error.issues) mistakes.push(`${issue.path.join('.')}: ${issue.message}`);
  } else {
    mistakes.push(...contradictions(parsed.data));
    if (mistakes.length === 0) return parsed.data;
  }
  throw new AppError('bad_settings', `These settings are wrong:\n  ${mistakes.join('\n  ')}`);
}

/** Returns the brokers for a service that needs a running Kafka. @throws AppError `bad_settings` without KAFKA_BROKERS. */
export function requireBrokers(settings: Settings): string[] {
  if (!settings.KAFKA_BROKERS || settings.KAFKA_BROKERS.length === 0) {
    throw new AppError(
      'bad_settings',
      'KAFKA_BROKERS is not set. Give it the address of a Kafka broker (host:port), or run `npm start`, which brings its own.',
    );
  }
  return settings.KAFKA_BROKERS;
}

/** Returns the keys for a service that decrypts secrets of `config`. @throws AppError `bad_settings` without WAYPOST_SECRET_KEY. */
export function requireSecretKeys(settings: Settings): Buffer[] {
  if (settings.WAYPOST_SECRET_KEY) return settings.WAYPOST_SECRET_KEY;
  throw new AppError(
    'bad_settings',
    'WAYPOST_SECRET_KEY is not set. Give all services the same key: 32 random bytes in base64 (openssl rand -base64 32).',
  );
}

function contradictions(settings: Settings): string[] {
  const mistakes: string[] = [];
  if (settings.KAFKA_SASL_MECHANISM && !(settings.KAFKA_SASL_USERNAME && settings.KAFKA_SASL_PASSWORD)) {
    mistakes.push('KAFKA_SASL_MECHANISM: needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD beside it');
  }
  const files = ['KAFKA_SSL_CA_FILE', 'KAFKA_SSL_CERT_FILE', 'KAFKA_SSL_KEY_FILE'] as const;
  // Otherwise a system meant to use TLS would run without it.
  const unused = settings.KAFKA_SSL ? [] : files.filter((file) => settings[file]);
  if (unused.length > 0) mistakes.push(`${unused.join(', ')}: needs KAFKA_SSL=true beside it`);
  if (!settings.KAFKA_SSL_CERT_FILE !== !settings.KAFKA_SSL_KEY_FILE) {
    mistakes.push('KAFKA_SSL_CERT_FILE and KAFKA_SSL_KEY_FILE: one needs the other');
  }
  for (const broker of settings.KAFKA_BROKERS ?? []) {
    if (!/^(\[[0-9a-fA-F:]+\]|[^:\s/]+):\d{1,5}$/.test(broker)) {
      mistakes.push(`KAFKA_BROKERS: must be host:port, several separated by commas, not "${broker}"`);
    }
  }
  return mistakes;
}

function suggestion(name: string): string {
  const words = new Set(name.split('_'));
  let best: string | undefined;
  // Requires the prefix and one more word in common; among several prefers the longest common start: WAYPOST_RETRY_DELAY lacks one letter.
  let bestLikeness: readonly [number, number] = [1, 0];
  for (const candidate of Object.keys(table)) {
    const shared = candidate.split('_').filter((word) => words.has(word)).length;
    const likeness = [shared, commonStart(candidate, name)] as const;
    if (shared < 2 || likeness[0] < bestLikeness[0]) continue;
    if (likeness[0] > bestLikeness[0] || likeness[1] > bestLikeness[1]) [best, bestLikeness] = [candidate, likeness];
  }
  return best ? ` (did you mean ${best}?)` : '';
}

/** Returns the length of the common start of two texts. */
function commonStart(a: string, b: string): number {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  return i;
}
