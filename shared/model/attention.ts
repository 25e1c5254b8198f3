/** Which destinations somebody should look at, which first, and why. Pure. */

/** The part of a destination's row in the overview that shows it. */
interface Standing {
  state: string;
  dead: number;
  waiting: number;
  retrying: number;
  held: number;
}

/** Returns the number of deliveries that have not ended. */
export function pendingOf({ waiting, retrying, held }: Standing): number {
  return waiting + retrying + held;
}

/** Returns whether somebody should look at it. */
export function needsAttention(row: Standing): boolean {
  return (
    row.dead > 0 ||
    row.state === 'failing' ||
    row.state === 'degraded' ||
    (row.state === 'paused' && pendingOf(row) > 0)
  );
}

/** What a destination's row tells of its failures. Times are ISO 8601. */
interface Failures<Failure extends { at: string }, Lost> extends Standing {
  /** attempts that failed in the span */
  failedAttempts: number;
  /** the last failure, however old */
  lastError: Failure | null;
  circuits: readonly { why: string }[];
  /** the newest delivery that was given up in the span */
  lastDead: Lost | null;
}

/** Why somebody should look at a destination. */
export type Cause<Failure, Lost> =
  | { kind: 'paused' }
  | { kind: 'failure'; failure: Failure }
  | { kind: 'circuit'; isTimeout: boolean }
  | { kind: 'lost'; lost: Lost };

/**
 * Returns why a destination is as its row says; null: nothing is known to be wrong. The last
 * failure of one that works again is over, and what was given up may have another cause.
 * @param since start of the row's counts
 * @param isBehindIt something waits for the end of the last failure, however old it is
 */
export function causeOf<Failure extends { at: string }, Lost>(
  row: Failures<Failure, Lost>,
  since: string,
  isBehindIt = false,
): Cause<Failure, Lost> | null {
  const { state, lastError: failure, circuits, dead, lastDead: lost } = row;
  if (state === 'paused') return { kind: 'paused' };
  if (failure !== null && state === 'failing') return { kind: 'failure', failure };
  if (failure !== null && state === 'degraded') {
    const isOfNow = row.failedAttempts > 0 && failure.at >= since;
    if (isOfNow || isBehindIt) return { kind: 'failure', failure };
  }
  if (circuits.length > 0) {
    return { kind: 'circuit', isTimeout: circuits.some(({ why }) => why === 'timeout') };
  }
  return dead > 0 && lost !== null ? { kind: 'lost', lost } : null;
}

/** Sorts whoever loses events first, then whoever waits. Others keep their order. */
export function byUrgency<Row extends Standing>(rows: readonly Row[]): Row[] {
  const isFailing = ({ state }: Row) => Number(state === 'failing');
  return [...rows].sort(
    (a, b) => b.dead - a.dead || pendingOf(b) - pendingOf(a) || isFailing(b) - isFailing(a),
  );
}
