import { type Command } from 'commander';
import { type Operations, type Replay } from '../../shared/api/operations';
import { MESSAGE_TYPES } from '../../shared/domain/message';
import { type Cli, group, leaf, oneOf, type Session, whole } from '../command';
import { all } from '../connect/api';
import { findDestination } from '../find';
import { paintOf } from '../output/paint';
import { type Column } from '../output/table';
import { pause, timeOf } from '../time';
import { FAILED, usage } from '../world';
import { STATUSES } from './deliveries';

/** `waypost replay`: what was sent is sent once more. */

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

const FOLLOW: [string, string] = ['--follow', 'wait for its end; exit code 1 unless it is done'];

export function addReplay(cli: Cli, program: Command): void {
  const replay = group(program, 'replay', 'Replay deliveries: one, or all within a scope as a job');
  leaf(
    cli,
    [replay, 'one <delivery>'],
    { summary: 'Send one delivery once more', example: 'replay one dlv_…' },
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
      summary: 'Send all of a scope once more, as a job: dead letters, unless told otherwise',
      example: 'replay all --destination "My hook" --since 2h --preview',
      options: [
        ['--destination <destination>', 'by id or name; needed'],
        ['--since <time>', 'accepted since: 15m, 24h, or 2026-12-01T10:00:00Z'],
        ['--until <time>', 'accepted before it'],
        ['--status <status>', STATUSES.join(', ')],
        ['--type <type>', MESSAGE_TYPES.join(', ')],
        ['--from-messages', 'all messages of the last 7 days, also from before the destination was there'],
        ['--include-delivered', 'also what was delivered already'],
        ['--preview', 'count, and send nothing'],
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
  if (options.destination === undefined) throw usage('--destination is needed: whose deliveries?');
  const { id } = await findDestination(session.api(), options.destination);
  return {
    destination: id,
    ...(since !== undefined && { from: timeOf(since, '--since', Date.now()) }),
    ...(until !== undefined && { to: timeOf(until, '--until', Date.now()) }),
    ...(status !== undefined && { status: oneOf(status, '--status', STATUSES) }),
    ...(type !== undefined && { type: oneOf(type, '--type', MESSAGE_TYPES) }),
    ...(options.fromMessages && { origin: 'messages' as const }),
    ...(options.includeDelivered && { includeDelivered: true }),
    ...(options.preview && { preview: true }),
    ...(maxPerSecond !== undefined && { maxPerSecond: whole(maxPerSecond, '--max-per-second', [1, 10_000]) }),
  };
}

function addJobs(cli: Cli, replay: Command): void {
  leaf(cli, [replay, 'list'], { summary: 'Replays, the newest first', example: 'replay list' }, async (session) => {
    const found = await all((query) => session.api().call('GET /replays', { query }), 50);
    session.print.rows(COLUMNS, found, 'Nothing was replayed yet.');
  });
  leaf<{ follow?: boolean }>(
    cli,
    [replay, 'show <replay>'],
    { summary: 'One replay and how far it is', example: 'replay show rpl_… --follow', options: [FOLLOW] },
    async (session, options, id = '') => {
      const { data } = await session.api().call('GET /replays/{id}', { id });
      return showOrFollow(session, data, options);
    },
  );
  leaf(
    cli,
    [replay, 'cancel <replay>'],
    { summary: 'Stop it', example: 'replay cancel rpl_…' },
    async (session, _, id = '') => {
      show(session, (await session.api().call('POST /replays/{id}/cancel', { id })).data);
    },
  );
  leaf(
    cli,
    [replay, 'resume <replay>'],
    { summary: 'Go on where it was stopped', example: 'replay resume rpl_…' },
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

/** Ctrl-C ends the looking on, not the replay. */
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
    await pause(POLL_MS, world.stop);
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
