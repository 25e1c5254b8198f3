import { compact } from '../../shared/collections/defined';
import { type OffsetFindings, type TopicFindings } from '../../shared/kafka/client/topic-report';

/** The result of one check: the finding, and how to fix it. Pure. */

export interface Check {
  name: string;
  result: 'ok' | 'warn' | 'fail';
  found: string;
  todo?: string;
}

export const ok = (name: string, found: string): Check => ({ name, result: 'ok', found });
export const warn = (name: string, found: string, todo: string): Check => ({
  name,
  result: 'warn',
  found,
  todo,
});
export const fail = (name: string, found: string, todo: string): Check => ({
  name,
  result: 'fail',
  found,
  todo,
});

/** Returns each remedy once, with the checks that ask for it. */
export function todosOf(checks: readonly Check[]): { names: string[]; todo: string }[] {
  const byTodo = new Map<string, string[]>();
  for (const { name, todo } of checks) {
    if (!todo) continue;
    const names = byTodo.get(todo) ?? [];
    byTodo.set(todo, names.includes(name) ? names : [...names, name]);
  }
  return [...byTodo].map(([todo, names]) => ({ names, todo }));
}

/**
 * Receivers refuse a `webhook-timestamp` more than five minutes off. A clock is wrong long before
 * that.
 */
const CLOCK_WARN_MS = 5_000;
const CLOCK_FAIL_MS = 120_000;

/** @param aheadMs lower bound of how far the other clock is ahead */
export function clockCheck(name: string, aheadMs: number): Check {
  const seconds =
    `${String(Math.round(Math.abs(aheadMs) / 1000))} s ` +
    `${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
  const off = Math.abs(aheadMs);
  const todo =
    'Set both clocks by NTP. Receivers refuse signatures with a time that is five minutes off.';
  if (off >= CLOCK_FAIL_MS) return fail(name, seconds, todo);
  return off >= CLOCK_WARN_MS ? warn(name, seconds, todo) : ok(name, 'same as this machine');
}

/** The response of `/readyz`; `undefined`: none. */
export interface Health {
  status: number;
  reasons: string[];
  degraded: string[];
}

/**
 * Where the services run, so what a port means that does not respond: on this machine, in
 * containers of known names (WAYPOST_HEALTH_HOST), or elsewhere.
 */
export type Whereabouts = 'here' | 'named' | 'elsewhere';

/** What the health port of a service says. */
export interface AskedHealth {
  service: string;
  at: string;
  /** undefined: no response */
  health: Health | undefined;
}

export function healthChecks(asked: readonly AskedHealth[], whereabouts: Whereabouts): Check[] {
  if (whereabouts === 'elsewhere' && asked.every(({ health }) => health === undefined)) {
    return [ok('services', 'none responds on this machine')];
  }
  return asked.map((each) => healthCheck(each, whereabouts));
}

function healthCheck({ service, at, health }: AskedHealth, whereabouts: Whereabouts): Check {
  const name = `service ${service}`;
  if (health === undefined) {
    const found = `no response at ${at}`;
    switch (whereabouts) {
      case 'here':
        return fail(name, found, 'See the output of `npm start`, which restarts it.');
      case 'named':
        return fail(name, found, 'Does its container run? See its log.');
      case 'elsewhere':
        return warn(
          name,
          found,
          'Others respond on this machine. If it runs on another one, set WAYPOST_HEALTH_HOST.',
        );
    }
  }
  if (health.status !== 200) {
    return fail(
      name,
      health.reasons.join('; ') || `status ${String(health.status)}`,
      'See its log and docs/operations/failures.md.',
    );
  }
  if (health.degraded.length > 0) {
    return warn(
      name,
      health.degraded.join('; '),
      'Everything else works. See docs/operations/failures.md.',
    );
  }
  return ok(name, `ready at ${at}`);
}

/** A difference in these settings loses or delays records. Other differences are only reported. */
const GRAVE = new Set([
  'cleanup.policy',
  'message.timestamp.type',
  'unclean.leader.election.enable',
]);

const RETENTION = new Set(['retention.ms', 'segment.ms']);

export function topicChecks({ missing, differences, count }: TopicFindings): Check[] {
  const checks: Check[] = [];
  if (missing.length > 0) {
    checks.push(
      fail(
        'topics',
        `missing: ${missing.join(', ')}`,
        'Start any service with these settings to create them. Is WAYPOST_TOPIC_PREFIX correct?',
      ),
    );
  }
  for (const { topic, setting, has, wants } of differences) {
    const found = `${setting} is ${has}; Waypost would create it with ${wants}`;
    const one = setting === 'partitions' && wants === '1';
    if (setting === 'partitions' && Number(has) > Number(wants) && !one) continue;
    const todo =
      setting === 'partitions' && !one
        ? 'Fine if intended. Add partitions with kafka-topics.sh --alter --partitions.'
        : `${
            RETENTION.has(setting)
              ? 'Name it in WAYPOST_TOPIC_RETENTION if it belongs to messages, webhooks or ' +
                'attempts and is intended. Otherwise set'
              : 'Set'
          } ` +
          `it with kafka-configs.sh --alter --entity-type topics --entity-name ${topic} ` +
          `--add-config ${setting}=${wants}`;
    checks.push((one || GRAVE.has(setting) ? fail : warn)(`topic ${topic}`, found, todo));
  }
  return checks.length > 0 ? checks : [ok('topics', `${String(count)}, all as expected`)];
}

export function offsetChecks({
  uncommitted,
  retentionMinutes,
  longestMinutes,
}: OffsetFindings): Check[] {
  const checks = uncommitted.map(({ group, topic, partitions }) =>
    warn(
      `group ${group}`,
      `has no committed offset for ${topic}, partitions ${partitions.join(', ')}, which ` +
        'contain records',
      'In a new system, this ends when the service has read them. Otherwise its offsets ' +
        'have expired, and it would process everything ' +
        'again. Stop the service and set them with kafka-consumer-groups.sh ' +
        `--group ${group} --topic ${topic}:${partitions.join(',')} --reset-offsets ` +
        '--to-datetime <when it last ran> --execute',
    ),
  );
  if (checks.length === 0) {
    checks.push(ok('offsets', 'every group has one for each partition with records'));
  }
  const name = 'offsets.retention.minutes';
  const wants = String(longestMinutes);
  if (typeof retentionMinutes === 'string') {
    const todo =
      `It must be at least ${wants}, the retention of records. Check the settings of the ` +
      'brokers.';
    return [...checks, warn(name, `could not be read (${retentionMinutes})`, todo)];
  }
  const found = `${String(retentionMinutes)}; records are retained for up to ${wants} minutes`;
  const todo =
    `Set ${name}=${wants} on each broker. A service that is stopped for longer loses its ` +
    'offsets and processes everything again.';
  return [...checks, retentionMinutes < longestMinutes ? warn(name, found, todo) : ok(name, found)];
}

/** @param unreadable keys of entries of `config` whose last record cannot be read */
export function configCheck(unreadable: readonly string[], found: string): Check {
  const name = 'config';
  if (unreadable.length === 0) return ok(name, found);
  const others = unreadable.length > 5 ? ` and ${String(unreadable.length - 5)} others` : '';
  const shown = unreadable.slice(0, 5).join(', ') + others;
  return fail(
    name,
    `the last record is unreadable of: ${shown}`,
    'Upgrade if a newer Waypost wrote them. If WAYPOST_SECRET_KEY is that of control, control ' +
      'did not write them: see "Who may write config" in docs/operations/security.md.',
  );
}

/** @param lost names of destinations with a value that the key cannot decrypt */
export function keyCheck(lost: string[], of: number): Check {
  const name = 'secret key';
  if (lost.length === 0) return ok(name, `decrypts the settings of ${String(of)} destinations`);
  return fail(
    name,
    `does not decrypt the settings of: ${lost.join(', ')}`,
    'Add the old key to WAYPOST_SECRET_KEY, after the current one, in every service; or ' +
      'set URLs, secrets and headers again.',
  );
}

export interface Faring {
  name: string;
  state: string;
  lastError: { message: string } | null;
  dead: number;
  circuits: { origin: string; why: string }[];
}

/**
 * @param destinations all of them, or the most urgent
 * @param all total number of destinations
 */
export function destinationChecks(destinations: Faring[], all = destinations.length): Check[] {
  const checks = destinations.flatMap(({ name, state, lastError, dead, circuits }) =>
    compact([
      state === 'failing' && circuits.length === 0 && dead === 0
        ? warn(
            `destination ${name}`,
            `failing: ${lastError?.message ?? 'no answer is known'}`,
            'See what waits with `waypost deliveries --destination NAME`.',
          )
        : undefined,
      ...circuits.map(({ origin, why }) =>
        warn(
          `destination ${name}`,
          // The last error may be of another URL.
          `${origin} ${why === 'timeout' ? 'does not answer in time' : 'fails'}`,
          'Fix the endpoint; Waypost probes it. See `waypost tail --attempts --destination NAME`.',
        ),
      ),
      dead > 0
        ? warn(
            `destination ${name}`,
            `${String(dead)} dead letters in 24 h`,
            'See the reasons with `waypost deliveries --destination NAME --status dead`; ' +
              'then `waypost replay all --destination NAME`.',
          )
        : undefined,
    ]),
  );
  const arePart = destinations.length < all;
  const urgent = `the ${String(destinations.length)} most urgent of ${String(all)}`;
  if (checks.length === 0) {
    const none = arePart ? `none of ${urgent}` : `${String(all)}, none`;
    return [ok('destinations', `${none} with problems in 24 h`)];
  }
  const others = 'See the health of all with `waypost destinations list`.';
  return arePart
    ? [...checks, warn('destinations', `only ${urgent} were checked`, others)]
    : checks;
}
