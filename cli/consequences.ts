import { type Session } from './command';
import { counted } from './confirm';
import { listAll } from './entries';

/** How much a command would end or hold back, for its question. */

/** @returns such as "3,209 deliveries wait there." */
export async function waitingThere({ api }: Session, destination: string): Promise<string> {
  try {
    const { data } = await api().call('GET /overview', { query: { ids: destination } });
    const row = data.data.find((each) => each.destination === destination);
    const waiting = row ? row.waiting + row.retrying + row.held : 0;
    return `${counted(waiting, 'delivery waits', 'deliveries wait')} there.`;
  } catch {
    return 'How many deliveries wait there is unknown: the history does not answer.';
  }
}

/** @returns such as "3 destinations are connected to it." */
export async function connectedTo({ api }: Session, source: string): Promise<string> {
  try {
    const all = await listAll(api(), 'destination');
    const connected = all.filter(({ sources }) => sources.includes(source)).length;
    return `${counted(connected, 'destination is', 'destinations are')} connected to it.`;
  } catch {
    // A token may read sources only.
    return 'The connected destinations are unknown.';
  }
}
