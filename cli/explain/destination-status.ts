import { type GoesOn } from '../../shared/api/operations';
import { causeOf, pendingOf } from '../../shared/model/attention';
import { type DeliveryRow } from '../output/deliveries';
import { type DestinationRow, goesOnWords } from './goes-on';
import { reasonWords } from './reason-words';

/** How a destination stands: what fails, since when, why, and when it goes on. Pure. */

/** A row of `waypost status`. */
export interface DestinationStatus {
  id: string;
  name: string;
  state: DestinationRow['state'];
  /** when the state began; null: unknown */
  since: string | null;
  /** why it fails, or why it lost something; null: it does not */
  why: string | null;
  waiting: number;
  /** in 24 hours */
  dead: number;
  /** of its newest waiting delivery; null: none waits */
  goesOn: GoesOn | null;
}

/** What the API tells of a destination beyond its row. */
export interface Details {
  stateSince?: string;
  /** the newest delivery that waits */
  waiting?: DeliveryRow;
}

/** @param since from when on the row counts */
export function destinationStatusOf(
  row: DestinationRow,
  since: string,
  details: Details = {},
): DestinationStatus {
  const { destination, name, state, circuits } = row;
  const opened = circuits.map(({ at }) => at).sort()[0];
  return {
    id: destination,
    name,
    state,
    since: details.stateSince ?? opened ?? null,
    why: whyOf(row, since, details),
    waiting: pendingOf(row),
    dead: row.dead,
    goesOn: details.waiting?.goesOn ?? null,
  };
}

function whyOf(row: DestinationRow, since: string, { waiting }: Details): string | null {
  const cause = causeOf(row, since, Boolean(waiting?.goesOn?.lastCheck));
  switch (cause?.kind) {
    case undefined:
      return null;
    case 'paused':
      return 'somebody paused it';
    case 'failure': {
      const { message, at } = cause.failure;
      return row.state === 'failing' ? message : `${message}; last failure ${at}, none since`;
    }
    case 'circuit':
      return cause.isTimeout ? 'its endpoint does not answer in time' : 'its endpoint fails';
    case 'lost': {
      const { message, status, reason } = cause.lost;
      if (message !== null) return message;
      if (status !== null) return `HTTP ${String(status)}`;
      return reason === null ? null : reasonWords(reason);
    }
  }
}

/**
 * Says when what waits goes on, in a few words. The last failure is what `why` says already.
 * @param newest the newest delivery that waits
 */
export function goesOnInWords(
  { goesOn, waiting, dead }: DestinationStatus,
  newest: DeliveryRow | undefined,
  nowMs: number,
): string | undefined {
  if (goesOn === null) return waiting === 0 && dead > 0 ? 'only by a replay' : undefined;
  return goesOnWords({ ...goesOn, lastCheck: null }, newest?.reason ?? null, nowMs);
}
