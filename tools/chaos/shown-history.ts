import { eventually } from '../../test/support/eventually';
import { type System } from '../harness/system';
import { ROLES, type Role } from './scenario';

/** What control shows of the run: its counts, and the rows of its history. */

export interface ShownHistory {
  /** deliveries that control counts as delivered */
  delivered: Record<Role, number>;
  /**
   * of `LISTED`: how often each delivery is in the list. A call that ingest accepted twice, in two
   * partitions, has a row for each time, which counts once.
   */
  rows: ReadonlyMap<string, number>;
}

/** A destination with few deliveries: all of them are listed, page by page. */
export const LISTED: Role = 'rejecting';
const PAGE = 200;
/** While other processes use all cores, control holds the history up: a busy machine fails here. */
const READ_WITHIN_MS = 300_000;
const READ_EVERY_MS = 5_000;

type Control = Pick<System, 'control'>;

/**
 * Reads it until the history has read everything.
 * @param destinations ids
 * @param since ms since 1970
 * @param isRight returns whether it shows what has happened
 * @returns what it shows at last, right or not
 */
export async function readShownHistory(
  system: Control,
  destinations: Record<Role, string>,
  since: number,
  isRight: (shown: ShownHistory) => boolean,
): Promise<ShownHistory> {
  let shown: ShownHistory | undefined;
  const read = async () => {
    const delivered = await readCounts(system, destinations, since);
    shown = { delivered, rows: await readRows(system, destinations[LISTED]) };
    if (!isRight(shown)) throw new Error('the history differs from the records');
    return shown;
  };
  try {
    return await eventually(read, { deadlineMs: READ_WITHIN_MS, everyMs: READ_EVERY_MS });
  } catch (error) {
    if (!shown) throw error;
    return shown;
  }
}

async function readCounts(
  system: Control,
  destinations: Record<Role, string>,
  since: number,
): Promise<Record<Role, number>> {
  const ids = Object.values(destinations).join(',');
  const from = encodeURIComponent(new Date(since).toISOString());
  const { status, body } = await system.control('GET', `/overview?ids=${ids}&since=${from}`);
  if (status !== 200) throw new Error(`control answered ${String(status)}`);
  const rows = (body as { data: { destination: string; delivered: number }[] }).data;
  const of = (role: Role) =>
    rows.find(({ destination }) => destination === destinations[role])?.delivered ?? 0;
  return Object.fromEntries(ROLES.map((role) => [role, of(role)])) as Record<Role, number>;
}

interface Page {
  data: { id: string; acceptedAt: string }[];
  next: string | null;
}

async function readRows(system: Control, destination: string): Promise<Map<string, number>> {
  const listed = new Map<string, number>();
  const rows = new Map<string, number>();
  let after = '';
  do {
    const query = `destination=${destination}&limit=${String(PAGE)}${after}`;
    const { status, body } = await system.control('GET', `/deliveries?${query}`);
    if (status !== 200) throw new Error(`control answered ${String(status)}`);
    const { data, next } = body as Page;
    for (const { id, acceptedAt } of data) {
      const row = `${acceptedAt} ${id}`;
      const times = (listed.get(row) ?? 0) + 1;
      listed.set(row, times);
      rows.set(id, Math.max(rows.get(id) ?? 0, times));
    }
    after = next === null ? '' : `&after=${encodeURIComponent(next)}`;
  } while (after !== '');
  return rows;
}
