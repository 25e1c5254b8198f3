import { type Command } from 'commander';
import { type Operations, type Replay } from '../../shared/api/operations';
import { MESSAGE_TYPES } from '../../shared/model/message';
import { DELIVERY_STATUSES } from '../../shared/model/reasons';
import { type Cli, group, leaf, oneOf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findDestination } from '../resolve-by-name';
import { paintOf } from '../output/paint';
import { type Column } from '../output/table';
import { sleep } from '../../shared/service/async';
import { timeOf } from '../time';
import { FAILED, usage } from '../process-context';

/** `waypost replay`: sends deliveries again. */

const POLL_MS = 500;

interface AllOptions {
  destination?: string;
  since?: string;
  until?: string;
  status?: string;
  type?: string;
  fromMessages?: boolean;
  includeDelivered?: boolean;
  preview?: boolean;
  maxPerSecond?: string;
  follow?: boolean;
}

const FOLLOW: [string, string] = ['--follow', 'wait until it ends; exit code 1 unless it completes'];

export function addReplay(cli: Cli, program: Command): void {
  const replay = group(program, 'replay', 'Replay one delivery, or all deliveries in a scope as a job');
  leaf(
    cli,
    [replay, 'one <delivery>'],
    { summary: 'Replay one delivery', example: 'replay one dlv_…' },
    async ({ api, print }, _, id = '') => {
      const { data } = await api().call('POST /deliveries/{id}/replay', { id });
      print.thing(data, [
        ['delivery', data.id],
        ['replay', data.replay],
        ['status', data.status],
      ]);
    },
  );
  addScope(cli, replay);
  addJobs(cli, replay);
}

function addScope(cli: Cli, replay: Command): void {
  leaf<AllOptions>(
    cli,
    [replay, 'all'],
    {
      summary: 'Replay all deliveries in a scope as a job, by default dead letters',
      example: 'replay all --destination "My hook" --since 2h --preview',
      options: [
        ['--destination <destination>', 'by id or name (required)'],
        ['--since <time>', 'accepted since, such as 15m, 24h or 2026-12-01T10:00:00Z'],
        ['--until <time>', 'accepted before this time'],
        ['--status <status>', DELIVERY_STATUSES.join(', ')],
        ['--type <type>', MESSAGE_TYPES.join(', ')],
        ['--from-messages', 'all messages of the last 7 days, also from before the destination existed'],
        ['--include-delivered', 'include delivered ones'],
        ['--preview', 'count only; send nothing'],
        ['--max-per-second <n>', 'default 200'],
        FOLLOW,
      ],
    },
    async (session, options) => {
      const body = await scopeOf(session, options);
      const { data } = await session.api().call('POST /replays', { body });
      return showOrFollow(session, data, options);
    },
  );
}

async function scopeOf(session: Session, options: AllOptions): Promise<Operations['POST /replays']['body']> {
  const { since, until, status, type, maxPerSecond } = options;
  if (options.destination === undefined) throw usage('--destination is required.');
  const { id } = await findDestination(session.api(), options.destination);
  return {
    destination: id,
    ...(since !== undefined && { from: timeOf(since, '--since', Date.now()) }),
    ...(until !== undefined && { to: timeOf(until, '--until', Date.now()) }),
    ...(status !== undefined && { status: oneOf(status, '--status', DELIVERY_STATUSES) }),
    ...(type !== undefined && { type: oneOf(type, '--type', MESSAGE_TYPES) }),
    ...(options.fromMessages && { origin: 'messages' as const }),
    ...(options.includeDelivered && { includeDelivered: true }),
    ...(options.preview && { preview: true }),
    ...(maxPerSecond !== undefined && { maxPerSecond: whole(maxPerSecond, '--max-per-second', [1, 10_000]) }),
  };
}

function addJobs(cli: Cli, replay: Command): void {
  leaf(cli, [replay, 'list'], { summary: 'List replays, newest first', example: 'replay list' }, async (session) => {
    const found = await all((query) => session.api().call('GET /replays', { query }), 50);
    session.print.rows(COLUMNS, found, 'No replays yet.');
  });
  leaf<{ follow?: boolean }>(
    cli,
    [replay, 'show <replay>'],
    { summary: 'Show one replay and its progress', example: 'replay show rpl_… --follow', options: [FOLLOW] },
    async (session, options, id = '') => {
      const { data } = await session.api().call('GET /replays/{id}', { id });
      return showOrFollow(session, data, options);
    },
  );
  leaf(
    cli,
    [replay, 'cancel <replay>'],
    { summary: 'Cancel a replay', example: 'replay cancel rpl_…' },
    async (session, _, id = '') => {
      show(session, (await session.api().call('POST /replays/{id}/cancel', { id })).data);
    },
  );
  leaf(
    cli,
    [replay, 'resume <replay>'],
    { summary: 'Resume a cancelled or failed replay', example: 'replay resume rpl_…' },
    async (session, _, id = '') => {
      show(session, (await session.api().call('POST /replays/{id}/resume', { id })).data);
    },
  );
}

const COLUMNS: Column<Replay>[] = [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: statusOf, paint: ({ status }) => paintOf(status) },
  { title: 'DESTINATION', of: ({ destination }) => destination },
  { title: 'MATCHED', of: ({ matched }) => matched, right: true },
  { title: 'SENT', of: ({ sent }) => sent, right: true },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
];

function showOrFollow(session: Session, replay: Replay, options: { follow?: boolean }): Promise<number> {
  if (options.follow) return follow(session, replay.id);
  show(session, replay);
  return Promise.resolve(0);
}

/** Ctrl-C stops following the replay. The replay itself continues. */
async function follow(session: Session, id: string): Promise<number> {
  const { api, print, world } = session;
  for (let shown = ''; ;) {
    const { data } = await api().call('GET /replays/{id}', { id });
    const over = data.status !== 'counting' && data.status !== 'running';
    if (over || world.stop.aborted) {
      show(session, data);
      return data.status === 'done' || !over ? 0 : FAILED;
    }
    const line = `${statusOf(data)}: ${String(data.sent)} of ${String(data.matched)} sent`;
    if (line !== shown && !print.json) print.note(line);
    shown = line;
    await sleep(POLL_MS, { signal: world.stop });
  }
}

function statusOf({ status, progress }: Replay): string {
  return status === 'counting' || status === 'running' ? `${status} ${String(Math.floor(progress * 100))} %` : status;
}

function show({ print }: Session, replay: Replay): void {
  print.thing(replay, [
    ['id', replay.id],
    ['status', statusOf(replay)],
    ['destination', replay.destination],
    ['matched', replay.matched],
    ['sent', replay.preview ? 'none: it only counts' : replay.sent],
    ['error', replay.error ?? undefined],
  ]);
}
