/** Which destinations somebody should look at, and which first. Pure. */

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

/** Sorts whoever loses events first, then whoever waits. Others keep their order. */
export function byUrgency<Row extends Standing>(rows: readonly Row[]): Row[] {
  const isFailing = ({ state }: Row) => Number(state === 'failing');
  return [...rows].sort(
    (a, b) => b.dead - a.dead || pendingOf(b) - pendingOf(a) || isFailing(b) - isFailing(a),
  );
}
