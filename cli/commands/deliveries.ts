import { type Command } from 'commander';
import { type Delivery, type Operations } from '../../shared/api/operations';
import { MESSAGE_TYPES } from '../../shared/model/message';
import { DELIVERY_STATUSES } from '../../shared/model/reasons';
import { type Cli, group, leaf, oneOf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findDestination, findSource } from '../resolve-by-name';
import { printable } from '../output/table';
import { ATTEMPT_COLUMNS, DELIVERY_COLUMNS } from '../output/deliveries';
import { timeOf } from '../time';

/** `waypost deliveries`: the outcome of each message. */

type Query = NonNullable<Operations['GET /deliveries']['query']>;

interface ListOptions {
  destination?: string;
  source?: string;
  status?: string;
  message?: string;
  user?: string;
  type?: string;
  since?: string;
  until?: string;
  limit?: string;
}

export function addDeliveries(cli: Cli, program: Command): void {
  const deliveries = group(program, 'deliveries', 'Deliveries and their attempts: list, show');
  leaf<ListOptions>(
    cli,
    [deliveries, 'list'],
    {
      summary: 'List deliveries, newest first',
      example: 'deliveries list --destination "My hook" --status dead --since 1h',
      options: [
        ['--destination <destination>', 'by id or name'],
        ['--source <source>', 'by id or name'],
        ['--status <status>', DELIVERY_STATUSES.join(', ')],
        ['--message <id>', "the message's id"],
        ['--user <id>', "the user's id"],
        ['--type <type>', MESSAGE_TYPES.join(', ')],
        ['--since <time>', 'accepted since, such as 15m, 24h or 2026-12-01T10:00:00Z'],
        ['--until <time>', 'accepted before this time'],
        ['--limit <n>', 'maximum number (default 50)'],
      ],
    },
    async (session, options) => {
      const query = await queryOf(session, options);
      const limit = whole(options.limit ?? '50', '--limit', [1, 100_000]);
      const { call } = session.api();
      const found = await all((page) => call('GET /deliveries', { query: { ...query, ...page } }), limit);
      session.print.rows(DELIVERY_COLUMNS, found, 'No matching deliveries.');
    },
  );
  leaf(
    cli,
    [deliveries, 'show <delivery>'],
    { summary: 'Show one delivery with its attempts and body', example: 'deliveries show dlv_…' },
    async (session, _, id = '') => {
      showDelivery(session, (await session.api().call('GET /deliveries/{id}', { id })).data);
    },
  );
}

async function queryOf(session: Session, options: ListOptions): Promise<Query> {
  const { destination, source, status, message, user, type, since, until } = options;
  return {
    ...(destination !== undefined && { destination: (await findDestination(session.api(), destination)).id }),
    ...(source !== undefined && { source: (await findSource(session.api(), source)).id }),
    ...(status !== undefined && { status: oneOf(status, '--status', DELIVERY_STATUSES) }),
    ...(type !== undefined && { type: oneOf(type, '--type', MESSAGE_TYPES) }),
    ...(message !== undefined && { message }),
    ...(user !== undefined && { user }),
    ...(since !== undefined && { since: timeOf(since, '--since', Date.now()) }),
    ...(until !== undefined && { until: timeOf(until, '--until', Date.now()) }),
  };
}

function showDelivery({ print, world }: Session, delivery: Delivery): void {
  const { id, status, reason, type, userId, messageId, source, destination, acceptedAt, settledAt, budget } = delivery;
  print.thing(delivery, [
    ['id', id],
    ['status', reason === null ? status : `${status} (${reason})`],
    ['type', type],
    ['user', userId],
    ['message', messageId],
    ['source', source],
    ['destination', destination],
    ['accepted', acceptedAt],
    ['settled', settledAt ?? undefined],
    ['next try', budget.nextAttemptAt ?? undefined],
    ['expires', settledAt === null ? budget.expiresAt : undefined],
    ['replays', delivery.replay || undefined],
  ]);
  if (print.json) return;
  const tries = delivery.attempts.flatMap((attempt) => attempt.urls.map((url) => ({ attempt, url })));
  world.out('\n');
  print.rows(ATTEMPT_COLUMNS, tries, 'No attempts yet.');
  for (const { attempt, url } of tries) {
    if (url.response && url.response.body !== '' && url.outcome !== 'delivered') {
      world.out(
        `\nanswer to try ${String(attempt.n)} at ${url.origin}: ${printable(url.response.body.slice(0, 500))}\n`,
      );
    }
  }
  const body = delivery.body === null ? 'Kafka no longer has its body' : JSON.stringify(delivery.body, null, 2);
  // Filter each line, so that a sender cannot control the terminal.
  world.out(`\n${body.split('\n').map(printable).join('\n')}\n`);
}
