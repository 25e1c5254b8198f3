import { ALERTS_ID } from '../../shared/model/config';
import { type Operations, type Replay } from '../../shared/api/operations';
import { DELIVERY_STATUSES, END_REASONS } from '../../shared/model/reasons';
import { defined } from '../../shared/collections/defined';
import { sleep } from '../../shared/runtime/async';
import { type CommandOption, type Group, type Listed, type Session } from '../command';
import { readList } from '../connect/api';
import { readAgain } from '../connect/read-again';
import { destinationNames, find } from '../entries';
import {
  choiceField,
  type Fields,
  flagField,
  idField,
  messageTypeField,
  numberField,
  optionsOf,
  readFields,
} from '../fields';
import { paintOf } from '../output/paint';
import { type Column } from '../output/table';
import { FAILED, usage } from '../process-context';
import { sinceField, untilField } from './deliveries';

/** `waypost replay`: sends deliveries again. */

const POLL_MS = 500;
/** The results follow the end of a job. A delivery that is retried may take hours more. */
const RESULT_LOOKS = 10;

export interface FollowOption {
  follow?: boolean;
}
export const FOLLOW: CommandOption = [
  '--follow',
  'wait until it ends; exit code 1 unless it completes',
];

const ONLY: CommandOption = ['--webhook <id...>', 'only to these webhooks of the destination'];

const RENDER: Fields<Operations['POST /deliveries/{id}/replay']['body']> = {
  render: flagField(
    '--render-again',
    'render the body again from the message, by the present settings of the destination',
    'again',
  ),
};
const SCOPE: Fields<Operations['POST /replays']['body']> = {
  destination: idField('--destination <destination>', 'destination', {
    help: 'by id or name (required)',
    // Control says why alerts cannot be replayed.
    isId: (name) => name === ALERTS_ID,
  }),
  from: sinceField,
  to: untilField,
  status: choiceField('--status <status>', DELIVERY_STATUSES),
  reason: choiceField('--reason <reason>', END_REASONS),
  type: messageTypeField,
  origin: flagField(
    '--from-messages',
    'all messages that Kafka keeps (7 days by default), also from before the destination existed',
    'messages',
  ),
  ...RENDER,
  includeDelivered: flagField('--include-delivered', 'include delivered ones', true),
  onlyFailedUrls: flagField(
    '--only-failed-urls',
    'each only to the URLs whose last try failed',
    true,
  ),
  preview: flagField('--preview', 'wait for the count; send nothing', true),
  maxPerSecond: numberField('--max-per-second <n>', 'default 200', [0.1, 10_000]),
};

export function addReplay(program: Group, { syntax, summary }: Listed): void {
  const replay = program.group(syntax, summary);
  replay.leaf<{ webhook?: string[] }>(
    'one <delivery>',
    { summary: 'Replay one delivery', options: [...optionsOf(RENDER), ONLY] },
    async (session, options, id = '') => {
      const { webhook: webhooks } = options;
      const body = {
        ...(await readFields(session, options, RENDER)),
        ...defined({ webhooks }),
      };
      const { data } = await session.api().call('POST /deliveries/{id}/replay', { id, body });
      session.print.thing(data, [
        ['delivery', data.id],
        ['replay', data.replay],
        ['status', data.status],
      ]);
    },
  );
  replay.leaf<FollowOption>(
    'all',
    {
      summary: 'Replay all deliveries in a scope as a job, by default dead letters',
      example: 'replay all --destination "My hook" --since 2h --preview',
      options: [...optionsOf(SCOPE), FOLLOW],
    },
    async (session, options) => {
      const { destination, ...scope } = await readFields(session, options, SCOPE);
      if (destination === undefined) throw usage('--destination is required.');
      const { data } = await session
        .api()
        .call('POST /replays', { body: { destination, ...scope } });
      // A preview has no result before it has counted.
      return showOrFollow(session, data, { follow: options.follow === true || data.preview });
    },
  );
  addJobs(replay);
}

function addJobs(replay: Group): void {
  replay.leaf(
    'list',
    { summary: 'List replays, newest first', isDefault: true },
    async ({ api, print }) => {
      const rows = await readList(api(), 'GET /replays', {}, 50);
      const isTable = rows.length > 0 && !print.json;
      const names = isTable ? await destinationNames(api()) : new Map<string, string>();
      print.rows(
        columnsFor((id) => names.get(id) ?? id),
        rows,
        'No replays yet.',
      );
    },
  );
  replay.leaf<FollowOption>(
    'show <replay>',
    {
      summary: 'Show one replay and its progress',
      example: 'replay show rpl_… --follow',
      options: [FOLLOW],
    },
    async (session, options, id = '') =>
      showOrFollow(session, await find(session.api(), 'replay', id), options),
  );
  replay.leaf(
    'cancel <replay>',
    { summary: 'Cancel a replay', asks: 'always' },
    async (session, _, id = '') => {
      await session.confirm(async () => {
        const replay = await find(session.api(), 'replay', id);
        return `Cancel replay ${id} to destination ${replay.destination}? ${resultOf(replay)}.`;
      });
      show(session, (await session.api().call('POST /replays/{id}/cancel', { id })).data);
    },
  );
  replay.leaf(
    'resume <replay>',
    { summary: 'Resume a cancelled or failed replay' },
    async (session, _, id = '') =>
      show(session, (await session.api().call('POST /replays/{id}/resume', { id })).data),
  );
}

const columnsFor = (nameOf: (id: string) => string): Column<Replay>[] => [
  { title: 'ID', of: ({ id }) => id },
  { title: 'STATUS', of: statusOf, paint: ({ status }) => paintOf(status) },
  { title: 'DESTINATION', of: ({ destination }) => nameOf(destination) },
  { title: 'ASKED', of: ({ asked }) => asked, right: true },
  { title: 'ATTEMPTED', of: ({ attempted }) => attempted, right: true },
  { title: 'DELIVERED', of: ({ delivered }) => delivered, right: true },
  { title: 'HELD', of: ({ held }) => held, right: true },
  { title: 'CREATED', of: ({ createdAt }) => createdAt },
];

export function showOrFollow(
  session: Session,
  replay: Replay,
  { follow: wait = false }: FollowOption,
): Promise<number> {
  if (wait) return follow(session, replay.id);
  show(session, replay);
  if (isActive(replay)) {
    session.print.note(`It continues. See it with: waypost replay show ${replay.id} --follow`);
  }
  return Promise.resolve(0);
}

/** Ctrl-C stops following the replay. The replay itself continues. */
async function follow(session: Session, id: string): Promise<number> {
  const { api, print, world } = session;
  let looks = RESULT_LOOKS;
  for (let shown = ''; ;) {
    const read = await readAgain(session, () => api().call('GET /replays/{id}', { id }));
    if (!read) return 0;
    const { data } = read;
    const over = !isActive(data) && (openOf(data) === 0 || looks-- === 0);
    if (over || world.stop.aborted) {
      show(session, data);
      return data.status === 'done' || !over ? 0 : FAILED;
    }
    const line = `${statusOf(data)}: ${resultOf(data)}`;
    if (line !== shown && !print.json) print.note(line);
    shown = line;
    await sleep(POLL_MS, { signal: world.stop });
  }
}

function resultOf({ asked, cancelled, attempted, delivered, held }: Replay): string {
  if (cancelled !== null) return `${String(cancelled)} of ${String(asked)} cancelled`;
  const waits = held ? `, ${String(held)} still held` : '';
  return `${String(asked)} asked, ${String(attempted ?? 0)} attempted, ${String(delivered ?? 0)} delivered${waits}`;
}

/** Returns the number of deliveries without a result. */
function openOf({ asked, delivered, failedAgain, superseded }: Replay): number {
  return delivered === null || failedAgain === null
    ? 0
    : Math.max(0, asked - delivered - failedAgain - (superseded ?? 0));
}

function isActive({ status }: Replay): boolean {
  return status === 'counting' || status === 'running';
}

function statusOf(replay: Replay): string {
  const { status, progress } = replay;
  return isActive(replay) ? `${status} ${String(Math.floor(progress * 100))} %` : status;
}

const SUPERSEDED = 'sent again or cancelled later, or no longer in the history';

function show({ print }: Session, replay: Replay): void {
  print.thing(replay, [
    ['id', replay.id],
    ['status', statusOf(replay)],
    ['destination', replay.destination],
    [replay.preview ? 'would be sent' : 'asked', replay.asked],
    ['cancelled', replay.cancelled ?? undefined],
    ['attempted', replay.preview ? 'none: it only counts' : (replay.attempted ?? undefined)],
    ['delivered', replay.delivered ?? undefined],
    ['failed again', replay.failedAgain ?? undefined],
    ['still held', replay.held || undefined],
    ['superseded', replay.superseded ? `${String(replay.superseded)}: ${SUPERSEDED}` : undefined],
    ['not ended', openOf(replay) || undefined],
    ['error', replay.error ?? undefined],
  ]);
}
