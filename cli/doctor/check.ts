import { type OffsetFindings, type TopicFindings } from '../../shared/kafka/inspect';

/** What a doctor says: one thing looked at, how it is, and what to do where it is not well. Pure. */

export interface Check {
  name: string;
  result: 'ok' | 'warn' | 'fail';
  found: string;
  todo?: string;
}

export const ok = (name: string, found: string): Check => ({ name, result: 'ok', found });
export const warn = (name: string, found: string, todo: string): Check => ({ name, result: 'warn', found, todo });
export const fail = (name: string, found: string, todo: string): Check => ({ name, result: 'fail', found, todo });

/** `webhook-timestamp` is refused beyond five minutes; long before that something is wrong with a clock. */
const CLOCK_WARN_MS = 5_000;
const CLOCK_FAIL_MS = 120_000;

/** @param aheadMs how far the other clock is before ours, at least */
export function clockCheck(name: string, aheadMs: number): Check {
  const seconds = `${String(Math.round(Math.abs(aheadMs) / 1000))} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this machine`;
  const off = Math.abs(aheadMs);
  const todo = 'Set both clocks by NTP: signatures carry a time, and receivers refuse what is five minutes off.';
  if (off >= CLOCK_FAIL_MS) return fail(name, seconds, todo);
  return off >= CLOCK_WARN_MS ? warn(name, seconds, todo) : ok(name, 'as this machine’s');
}

/** What `/readyz` answered; `undefined`: nothing did. */
export interface Health {
  status: number;
  reasons: string[];
  degraded: string[];
}

/** @param here the system is known to be of this machine, where a port that does not answer is a service that is down */
export function healthCheck(service: string, at: string, health: Health | undefined, here: boolean): Check {
  if (health === undefined) {
    return here
      ? fail(service, `nothing answers at ${at}`, 'Look at what `npm start` says of it; it is started again by itself.')
      : warn(service, `nothing answers at ${at}`, 'If it runs elsewhere, ask its /readyz there.');
  }
  if (health.status !== 200) {
    return fail(
      service,
      health.reasons.join('; ') || `status ${String(health.status)}`,
      'See its log, and docs/operations/ for what that means.',
    );
  }
  if (health.degraded.length > 0)
    return warn(service, health.degraded.join('; '), 'The rest of it works. See docs/operations/.');
  return ok(service, `ready at ${at}`);
}

/** Settings whose difference loses records, or makes them late; others only differ. */
const GRAVE = new Set(['cleanup.policy', 'message.timestamp.type', 'unclean.leader.election.enable']);

export function topicChecks({ missing, differences, count }: TopicFindings): Check[] {
  const checks: Check[] = [];
  if (missing.length > 0) {
    checks.push(
      fail(
        'topics',
        `missing: ${missing.join(', ')}`,
        'Start any service with these settings: it makes them. Is WAYPOST_TOPIC_PREFIX right?',
      ),
    );
  }
  for (const { topic, setting, has, wants } of differences) {
    const found = `${setting} is ${has}, would be made with ${wants}`;
    const one = setting === 'partitions' && wants === '1';
    if (setting === 'partitions' && Number(has) > Number(wants) && !one) continue;
    const todo =
      setting === 'partitions' && !one
        ? 'Fine if it was meant so; more are added by kafka-topics.sh --alter --partitions.'
        : `Set it by kafka-configs.sh --alter --entity-type topics --entity-name ${topic} --add-config ${setting}=${wants}`;
    checks.push((one || GRAVE.has(setting) ? fail : warn)(`topic ${topic}`, found, todo));
  }
  return checks.length > 0 ? checks : [ok('topics', `${String(count)}, each as it should be`)];
}

export function offsetChecks({ uncommitted, retentionMinutes, longestMinutes }: OffsetFindings): Check[] {
  const checks = uncommitted.map(({ group, topic, partitions }) =>
    warn(
      `group ${group}`,
      `has no committed offset for ${topic}, partitions ${partitions.join(', ')}, which hold records`,
      'In a new system this ends when the service has read them. Else its offsets have expired, and it would do everything ' +
        'again: stop the service, and set them by kafka-consumer-groups.sh ' +
        `--group ${group} --topic ${topic}:${partitions.join(',')} --reset-offsets --to-datetime <when it last ran> --execute`,
    ),
  );
  if (checks.length === 0) checks.push(ok('offsets', 'each group has one for each partition with records'));
  const name = 'offsets.retention.minutes';
  const wants = String(longestMinutes);
  if (typeof retentionMinutes === 'string') {
    const todo = `It must be ${wants} at least, as long as records are kept: look at the settings of the brokers.`;
    return [...checks, warn(name, `could not be read (${retentionMinutes})`, todo)];
  }
  const found = `${String(retentionMinutes)}; records are kept for up to ${wants} minutes`;
  const todo = `Set ${name}=${wants} at each broker: a service that is stopped for longer loses its offsets and does all again.`;
  return [...checks, retentionMinutes < longestMinutes ? warn(name, found, todo) : ok(name, found)];
}

/** @param lost names of destinations with something that the key does not open */
export function keyCheck(lost: string[], of: number): Check {
  const name = 'secret key';
  if (lost.length === 0) return ok(name, `opens what ${String(of)} destinations have sealed`);
  return fail(
    name,
    `does not open what is sealed of: ${lost.join(', ')}`,
    'Add the key that sealed it to WAYPOST_SECRET_KEY, after the present one, at every service; or give URLs, secrets and headers anew.',
  );
}

export interface Faring {
  name: string;
  dead: number;
  circuits: { origin: string; why: string }[];
}

export function destinationChecks(destinations: Faring[]): Check[] {
  const checks = destinations.flatMap(({ name, dead, circuits }) => [
    ...circuits.map(({ origin, why }) =>
      warn(
        `destination ${name}`,
        `${origin} is left alone (${why})`,
        `Mend it: Waypost tries it by itself. See \`waypost tail --destination "${name}"\`.`,
      ),
    ),
    ...(dead > 0
      ? [
          warn(
            `destination ${name}`,
            `${String(dead)} dead letters in 24 h`,
            `See why by \`waypost deliveries list --destination "${name}" --status dead\`; then \`waypost replay all --destination "${name}"\`.`,
          ),
        ]
      : []),
  ]);
  return checks.length > 0 ? checks : [ok('destinations', `${String(destinations.length)}, none with trouble in 24 h`)];
}
