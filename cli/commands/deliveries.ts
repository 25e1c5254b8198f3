import { stringifyJson } from '../../shared/json/json';
import { type Delivery } from '../../shared/api/operations';
import {
  DELIVERY_STATUSES,
  FILTER_STATUSES,
  isUnderWay,
  OPEN_STATUSES,
} from '../../shared/model/reasons';
import { printable, printableLines } from '../../shared/runtime/printable';
import { type Group, type Listed, type Session } from '../command';
import {
  choiceField,
  destinationField,
  flagField,
  idField,
  messageTypeField,
  textField,
  timeField,
} from '../fields';
import { goesOnWords } from '../explain/goes-on';
import {
  ATTEMPT_COLUMNS,
  calledUrl,
  DELIVERY_COLUMNS,
  requestsInWords,
  responseInWords,
  triesOf,
  tryOf,
} from '../output/deliveries';
import { addList, addShow, MOST_ROWS } from '../resource';

/** `waypost deliveries`: the outcome of each message. */

const statusField = choiceField(
  '--status <status>',
  FILTER_STATUSES,
  `${DELIVERY_STATUSES.join(', ')}; pending: all that wait (${OPEN_STATUSES.join(', ')})`,
);
export const sinceField = timeField(
  '--since <time>',
  'accepted since, such as 15m, 24h or 2026-12-01T10:00:00Z',
);
export const untilField = timeField('--until <time>', 'accepted before this time');

export function addDeliveries(program: Group, { syntax, summary }: Listed): void {
  const deliveries = program.group(syntax, summary);
  addList(deliveries, 'list', {
    from: 'GET /deliveries',
    summary: 'List deliveries, newest first',
    example: 'deliveries list --destination "My hook" --status dead --since 1h',
    columns: DELIVERY_COLUMNS,
    filters: {
      destination: destinationField,
      source: idField('--source <source>', 'source'),
      status: statusField,
      message: textField('--message <id>', "the message's id"),
      user: textField('--user <id>', "the user's id"),
      type: messageTypeField,
      batch: textField('--batch <id>', 'the id of a batch that they were sent in: bat_…'),
      event: textField('--event <name>', 'the name of a track call, page or screen'),
      code: textField('--code <status>', 'HTTP status of the last response, such as 503, or 5xx'),
      error: textField('--error <code>', "the code of the last attempt's error, such as timeout"),
      q: textField('--search <text>', 'part of a user id, a message id, an event or the body'),
      since: sinceField,
      until: untilField,
      endedSince: timeField('--ended-since <time>', 'ended since, such as 24h'),
      endedUntil: timeField('--ended-until <time>', 'ended before this time'),
      counted: flagField('--counted', 'only what status and notices count: no test sends', 'true'),
    },
    limited: { most: MOST_ROWS, one: 'delivery', many: 'deliveries' },
    empty: 'No matching deliveries.',
    hint: ({ status }, rows) =>
      rows.length === 0 && isUnderWay(status)
        ? `--status pending finds all that wait: ${OPEN_STATUSES.join(', ')}.`
        : undefined,
  });
  addShow(deliveries, 'delivery', {
    summary: 'Show one delivery with its attempts and body',
    show: showDelivery,
  });
}

/** Returns the URLs of a destination by their ids, if an attempt did not call one of them. */
async function urlsFor(delivery: Delivery, { api }: Session): Promise<Map<string, string | null>> {
  if (!delivery.attempts.some(({ notCalled }) => notCalled)) return new Map();
  // Without the destination, or the right to read it, ids remain.
  const read = api().call('GET /destinations/{id}', { id: delivery.destination });
  const webhooks = await read.then(({ data }) => data.webhooks).catch(() => []);
  return new Map(webhooks.map(({ id, url }) => [id, url]));
}

async function showDelivery(session: Session, delivery: Delivery): Promise<void> {
  const { print, world } = session;
  const {
    id,
    status,
    reason,
    type,
    event,
    userId,
    messageId,
    source,
    destination,
    acceptedAt,
    settledAt,
    goesOn,
  } = delivery;
  print.thing(delivery, [
    ['id', id],
    ['status', reason === null ? status : `${status} (${reason})`],
    ['type', type],
    ['event', event ?? undefined],
    ['user', userId],
    ['message', messageId],
    ['source', source],
    ['destination', destination],
    ['accepted', acceptedAt],
    ['settled', settledAt ?? undefined],
    ['goes on', goesOn === null ? undefined : goesOnWords(goesOn, reason, Date.now())],
    ['gives up at', goesOn?.givenUpAt],
    ['replays', delivery.replay || undefined],
  ]);
  if (print.json) return;
  const tries = triesOf(delivery.attempts, await urlsFor(delivery, session));
  world.out('\n');
  print.rows(ATTEMPT_COLUMNS, tries, 'No attempts yet.');
  for (const request of requestsInWords(tries)) world.out(`\n${request}\n`);
  for (const { attempt, url } of tries) {
    if (url.oddities) {
      const kinds = printable(url.oddities.join(', '));
      world.out(
        `\nodd in the response to try ${tryOf(attempt)} at ${printable(calledUrl(url))}: ${kinds}; ` +
          `its status counts\n`,
      );
    }
    if (url.response) {
      world.out(
        `\nresponse to try ${tryOf(attempt)} at ${printable(calledUrl(url))}: ` +
          `${responseInWords(url.response)}\n`,
      );
    }
  }
  const body =
    delivery.body === null ? 'Kafka no longer has its body' : stringifyJson(delivery.body, 2);
  // Filter each line, so that a sender cannot control the terminal.
  world.out(`\nbody of the requests:\n${printableLines(body)}\n`);
}
