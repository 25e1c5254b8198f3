import { type ConfigView } from '../../../shared/config/types';
import { ALERTS_ID } from '../../../shared/model/config';
import { Problem } from '../http/problem';

/** Refuses replays, retries and cancellations that would do harm or nothing. Pure. */

/**
 * @throws Problem `conflict` if it is the destination of the alerts, whose channels each need
 *   another body
 */
export function requireReplayable(destination: string): void {
  if (destination !== ALERTS_ID) return;
  throw new Problem(
    'conflict',
    'An alert cannot be replayed: each of its channels gets a body of its own, and a ' +
      'replay would send one body to all of them. To try the channels, send a test (`POST ' +
      '/alerts/test`)',
  );
}

/** @throws Problem `conflict` */
export function requireOn(config: Pick<ConfigView, 'destination'>, id: string): void {
  requireSendable({ enabled: config.destination(id)?.data.enabled === true, paused: false });
}

/**
 * @throws Problem `conflict` if the destination is off or paused: its deliveries would end or wait
 *   again
 */
export function requireSendable({
  enabled,
  paused,
}: { enabled: boolean; paused: boolean } = OFF): void {
  if (!enabled) {
    throw new Problem(
      'conflict',
      'The destination is off and would cancel its deliveries. Switch it on first',
    );
  }
  if (paused) {
    throw new Problem(
      'conflict',
      'The destination is paused. Resume it first: its deliveries then go out',
    );
  }
}
const OFF = { enabled: false, paused: false };
