import { readable } from '../arithmetic';
import { type Round } from './figures';

/**
 * Lists the problems of a round in words. Pure.
 * @param i number of the round, from 0
 */
export function faultsOf(round: Round, i: number): string[] {
  const faults: string[] = [];
  const say = (part: string, count: number, what: string) => {
    if (count !== 0) faults.push(`round ${String(i + 1)}, ${part}: ${readable(count)} ${what}`);
  };
  const { delivery, batches, singles, latency, sustained, isolation, backlog, outage, waiting } = round;
  for (const { part, why } of round.failures)
    faults.push(`round ${String(i + 1)}, ${part}: could not be measured: ${why}`);
  for (const [what, count] of Object.entries(delivery?.warnings ?? {})) say('delivery alone', count, what);
  for (const [what, count] of Object.entries(round.warnings ?? {})) say('all services', count, what);
  for (const [part, figure] of Object.entries({ delivery, batches, singles, latency, sustained, outage })) {
    if (!figure) continue;
    if ('missing' in figure) say(part, figure.missing, 'accepted and not delivered');
    if ('repeats' in figure) say(part, figure.repeats, 'POSTs more than deliveries');
    if ('diverted' in figure) say(part, figure.diverted, 'records in tiers or dead letters, since the system started');
  }
  for (const { hanging, refused, missing, mostConnections } of isolation?.phases ?? []) {
    const phase = `isolation, ${String(hanging)} hang`;
    say(phase, refused, 'calls that ingest did not accept');
    say(phase, missing, 'accepted and not delivered');
    say(phase, Math.max(0, mostConnections - (isolation?.laneLimit ?? 0)), 'connections more than a lane may have');
  }
  say('backlog, a new lane', backlog?.first.repeats ?? 0, 'POSTs more than deliveries');
  say('backlog, a used lane', backlog?.second.repeats ?? 0, 'POSTs more than deliveries');
  for (const { name, lateness } of waiting?.phases ?? []) say(`waiting, ${name}`, lateness.missing, 'due and not put');
  return faults;
}
