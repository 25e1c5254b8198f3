import { type Command } from 'commander';
import { type Notice, type Operations } from '../../shared/api/operations';
import { NOTICE_KINDS } from '../../shared/model/config';
import { type Cli, group, leaf, oneOf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findDestination } from '../resolve-by-name';
import { paintOf } from '../output/paint';
import { type Column } from '../output/table';

/** `waypost notices`: notices about destinations in trouble. */

type Query = NonNullable<Operations['GET /notices']['query']>;

/** The webhook of the alerts is not in the list of destinations. */
const ALERTS = 'alerts';

const COLUMNS: Column<Notice>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'AT', of: ({ at }) => at },
  { title: 'DESTINATION', of: ({ name }) => name },
  { title: 'WHAT', of: ({ kind }) => kind, paint: ({ kind }) => paintOf(kind) },
  { title: 'UNTIL', of: ({ kind, endedAt }) => endedAt ?? (kind === 'failing' ? 'it goes on' : undefined) },
  { title: 'ALERT', of: ({ alert }) => alert },
  { title: 'SEEN BY', of: ({ acknowledged }) => acknowledged?.by.name },
  { title: 'ERROR', of: ({ error }) => error },
];

interface ListOptions {
  destination?: string;
  kind?: string;
  open?: boolean;
  unseen?: boolean;
  limit?: string;
}

export function addNotices(cli: Cli, program: Command): void {
  const notices = group(program, 'notices', 'Notices about failing destinations: list, show, acknowledge');
  leaf<ListOptions>(
    cli,
    [notices, 'list'],
    {
      summary: 'List notices, newest first',
      example: 'notices list --open',
      options: [
        ['--destination <destination>', `by id or name; ${ALERTS}: the webhook of alerts itself`],
        ['--kind <kind>', NOTICE_KINDS.join(', ')],
        ['--open', 'only ongoing notices'],
        ['--unseen', 'only unacknowledged notices'],
        ['--limit <n>', 'maximum number (default 50)'],
      ],
    },
    async (session, options) => {
      const query = await queryOf(session, options);
      const limit = whole(options.limit ?? '50', '--limit', [1, 100_000]);
      const { call } = session.api();
      const found = await all((page) => call('GET /notices', { query: { ...query, ...page } }), limit);
      session.print.rows(COLUMNS, found, 'No matching notices.');
    },
  );
  leaf(
    cli,
    [notices, 'show <notice>'],
    { summary: 'Show one notice', example: 'notices show ntc_…' },
    async (session, _, id = '') => show(session, (await session.api().call('GET /notices/{id}', { id })).data),
  );
  leaf(
    cli,
    [notices, 'acknowledge <notice>'],
    { summary: 'Acknowledge a notice', example: 'notices acknowledge ntc_…' },
    async (session, _, id = '') =>
      show(session, (await session.api().call('POST /notices/{id}/acknowledge', { id })).data),
  );
}

async function queryOf(session: Session, { destination, kind, open, unseen }: ListOptions): Promise<Query> {
  const idOf = async (name: string) => (name === ALERTS ? ALERTS : (await findDestination(session.api(), name)).id);
  return {
    ...(destination !== undefined && { destination: await idOf(destination) }),
    ...(kind !== undefined && { kind: oneOf(kind, '--kind', NOTICE_KINDS) }),
    ...(open && { open: 'true' as const }),
    ...(unseen && { acknowledged: 'false' as const }),
  };
}

function show({ print }: Session, notice: Notice): void {
  const { id, at, destination, name, kind, since, endedAt, failures, deadLetters, error } = notice;
  const { alert, delivery, acknowledged } = notice;
  print.thing(notice, [
    ['id', id],
    ['at', at],
    ['destination', `${name} (${destination})`],
    ['what', kind],
    ['since', since],
    ['until', endedAt ?? undefined],
    ['failures', failures || undefined],
    ['dead letters', deadLetters || undefined],
    ['error', error ?? undefined],
    ['alert', delivery === null ? alert : `${alert}: ${delivery}`],
    ['acknowledged', acknowledged ? `${acknowledged.at} by ${acknowledged.by.name}` : 'not acknowledged'],
  ]);
}
