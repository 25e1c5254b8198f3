import { compact } from '../../shared/collections/defined';
import { type Delivery } from '../../shared/api/operations';
import { type Api } from '../connect/api';
import { counted } from '../confirm';
import { find } from '../entries';
import { cut } from '../output/cut';
import { type DestinationRow, goesOnWords } from './goes-on';
import { reasonWords } from './reason-words';

/** Explains in sentences why a delivery waits or how it ended. */

/** A delivery, and what is known of its destination. */
export interface Story {
  delivery: Delivery;
  /** undefined: the token may not read it, or the history is away */
  row: DestinationRow | undefined;
}

/** @throws CliError for an unknown delivery */
export async function readStory(api: Api, id: string): Promise<Story> {
  const delivery = await find(api, 'delivery', id);
  const { destination } = delivery;
  const row = await api
    .call('GET /overview', { query: { ids: destination } })
    .then(({ data }) => data.data.find((each) => each.destination === destination))
    .catch(() => undefined);
  return { delivery, row };
}

export function explain(story: Story, nowMs: number): string {
  return sentencesOf(story, nowMs).join(' ');
}

export function sentencesOf({ delivery, row }: Story, nowMs: number): string[] {
  const { status, reason, acceptedAt, settledAt, budget, attempts } = delivery;
  const why = reason === null ? '' : `: ${reasonWords(reason)}`;
  const to = row === undefined ? delivery.destination : `"${row.name}"`;
  const made =
    `It was accepted at ${acceptedAt}; ${counted(budget.attemptsMade, 'attempt')} so ` +
    `far${delivery.replay > 0 ? ` since replay ${String(delivery.replay)}` : ''}.`;
  const sentences = [
    `Delivery ${delivery.id} to ${to} is ${status.replaceAll('_', ' ')}${why}.`,
    made,
    ...attempts.slice(-1).flatMap(lastAttempt),
  ];
  const { goesOn } = delivery;
  if (goesOn === null) {
    return settledAt === null ? sentences : [...sentences, `It ended at ${settledAt}.`];
  }
  return [
    ...sentences,
    `It goes on ${goesOnWords(goesOn, reason, nowMs)}.`,
    `Waypost gives up at ${goesOn.givenUpAt}.`,
  ];
}

function lastAttempt(attempt: Delivery['attempts'][number]): string[] {
  return attempt.urls.flatMap(({ origin, status, error, outcome, response }) => {
    if (attempt.withheld) {
      return [`At ${attempt.at} nothing was sent to ${origin}: ${error?.message ?? outcome}.`];
    }
    const result =
      status === undefined
        ? error
          ? `failed: ${error.message} (${error.code})`
          : outcome
        : `answered ${String(status)}`;
    const said = outcome === 'delivered' ? '' : firstLineOf(response?.body ?? '');
    return compact([
      `At the last attempt (${attempt.at}) ${origin} ${result}.`,
      said === '' ? undefined : `It said: ${said}`,
    ]);
  });
}

const MOST_SAID = 200;

function firstLineOf(body: string): string {
  return cut(body.trim().split(/\r?\n/, 1)[0] ?? '', MOST_SAID);
}
