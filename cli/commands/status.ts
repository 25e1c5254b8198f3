import { defined } from '../../shared/collections/defined';
import { messageOf } from '../../shared/runtime/errors';
import { needsAttention, pendingOf } from '../../shared/model/attention';
import { type DELIVERY_STATUSES } from '../../shared/model/reasons';
import { printable } from '../../shared/runtime/printable';
import { type Group, type Listed, type Session } from '../command';
import { counted } from '../confirm';
import { find } from '../entries';
import { explain, readStory, sentencesOf } from '../explain/delivery';
import { type DestinationRow } from '../explain/goes-on';
import {
  type Details,
  type DestinationStatus,
  destinationStatusOf,
  goesOnInWords,
} from '../explain/destination-status';
import { paintOf } from '../output/paint';
import { type Column } from '../output/table';

/**
 * `waypost status` and `waypost why`: who is in trouble, since when and why, and when it goes on.
 */

/** One screen. */
const MOST_DETAILED = 20;
/** Each asks for up to four things, which control answers from one database. */
const AT_ONCE = 4;

interface DetailedRow {
  row: DestinationRow;
  details: Details;
  status: DestinationStatus;
}

export function addStatus(program: Group, { syntax, summary }: Listed): void {
  program.leaf(
    syntax,
    {
      summary,
      example: 'status "My hook"',
      more:
        'DEAD counts dead letters of the last 24 hours. Those that lose events come first. With ' +
        '--json it lists all destinations, or\nthe 200 most urgent.',
    },
    (session, _, given = '') => (given === '' ? statusOfAll(session) : statusOf(session, given)),
  );
}

export function addWhy(program: Group, { syntax, summary }: Listed): void {
  program.leaf(syntax, { summary }, async ({ api, print, world }, _, id = '') => {
    const story = await readStory(api(), id);
    const { status, reason, goesOn, attempts } = story.delivery;
    const nowMs = Date.now();
    if (print.json) {
      const why = explain(story, nowMs);
      print.thing({ id: story.delivery.id, status, reason, why, goesOn }, []);
      return;
    }
    for (const sentence of sentencesOf(story, nowMs)) world.out(`${printable(sentence)}\n`);
    if (attempts.length > 0) {
      print.note(`See the requests and responses with: waypost deliveries show ${id}`);
    }
  });
}

async function statusOfAll(session: Session): Promise<void> {
  const { api, print } = session;
  const { data } = await api().call('GET /overview', {});
  const rows = data.data;
  const inNeed = rows.filter(needsAttention);
  const detailed: DetailedRow[] = [];
  for (let i = 0; i < Math.min(inNeed.length, MOST_DETAILED); i += AT_ONCE) {
    const few = inNeed.slice(i, Math.min(i + AT_ONCE, MOST_DETAILED));
    detailed.push(...(await Promise.all(few.map((row) => withDetails(session, row, data.since)))));
  }
  const others = [...inNeed.slice(MOST_DETAILED), ...rows.filter((row) => !needsAttention(row))];
  if (print.json) {
    const destinations = [
      ...detailed.map(({ status }) => status),
      ...others.map((row) => destinationStatusOf(row, data.since)),
    ];
    print.thing({ destinations }, []);
    return;
  }
  print.note(summaryOf(data.destinations, inNeed.length, data.open, data.totals.dead));
  if (detailed.length > 0) print.rows(COLUMNS, detailed, '');
  if (detailed.some(({ row }) => row.dead > 0)) {
    print.note(
      'Dead deliveries are not tried again. After a fix, replay them: ' +
        'waypost replay all --destination <destination>',
    );
  }
  if (inNeed.length > MOST_DETAILED) {
    print.note(`${String(inNeed.length - MOST_DETAILED)} more need attention: see --json.`);
  }
}

function summaryOf(
  all: number,
  inNeed: number,
  open: { waiting: number; retrying: number; held: number },
  dead: number,
): string {
  const waiting = open.waiting + open.retrying + open.held;
  const sums =
    `${counted(waiting, 'delivery waits', 'deliveries wait')}, ` +
    `${counted(dead, 'is', 'are')} dead in 24 h.`;
  if (inNeed === 0) return `None of ${counted(all, 'destination')} needs attention; ${sums}`;
  return `${String(inNeed)} of ${counted(all, 'destination')} ${inNeed === 1 ? 'needs' : 'need'} attention; ${sums}`;
}

async function statusOf(session: Session, given: string): Promise<void> {
  const { api, print } = session;
  const { id } = await find(api(), 'destination', given);
  const { data } = await api().call('GET /overview', { query: { ids: id } });
  const row = data.data.find((each) => each.destination === id);
  if (row === undefined) return;
  const detailed = await withDetails(session, row, data.since);
  const { status, details } = detailed;
  print.thing({ destinations: [status] }, [
    ['destination', `${status.name} (${status.id})`],
    ['state', status.state],
    ['since', status.since ?? 'unknown'],
    ['why', status.why ?? undefined],
    ['last failure', status.goesOn?.lastCheck?.at],
    [
      'waiting',
      row.oldestWaitingAt === null
        ? status.waiting
        : `${String(status.waiting)}, the oldest accepted at ${row.oldestWaitingAt}`,
    ],
    ['goes on', goesOnInWords(status, details.waiting, Date.now())],
    [
      'gives up at',
      status.goesOn === null ? undefined : `${status.goesOn.givenUpAt}, on the newest`,
    ],
    ['dead', `${String(status.dead)} since ${data.since}`],
    ['delivered', `${String(row.delivered)} since ${data.since}`],
  ]);
  if (print.json) return;
  if (status.dead > 0) {
    print.note(
      `See them with: waypost deliveries --destination ${id} --status dead --counted ` +
        `--ended-since ${data.since}\n` +
        `They are not tried again. After a fix, replay them: waypost replay all --destination ${id}`,
    );
  }
}

/** Asks for what the row of the overview does not have. Whatever is unknown stays out. */
async function withDetails(
  { api, print }: Session,
  row: DestinationRow,
  since: string,
): Promise<DetailedRow> {
  const { destination: id } = row;
  const newest = async (status: (typeof DELIVERY_STATUSES)[number], count: number) => {
    if (count === 0) return undefined;
    const query = { destination: id, status, limit: 1 };
    const { data } = await api().call('GET /deliveries', { query });
    return data.data[0];
  };
  let unread: string | undefined;
  const ifKnown = <T>(asked: Promise<T>) =>
    asked.catch((error: unknown) => {
      unread = messageOf(error);
      return undefined;
    });
  const [health, held, retrying, waiting] = await Promise.all([
    ifKnown(api().call('GET /destinations/{id}/health', { id })),
    ifKnown(newest('held', row.held)),
    ifKnown(newest('retrying', row.retrying)),
    ifKnown(newest('waiting', row.waiting)),
  ]);
  if (unread !== undefined) print.note(`Not all is known of "${printable(row.name)}": ${unread}`);
  const details: Details = defined({
    stateSince: health?.data.stateSince,
    waiting: held ?? retrying ?? waiting,
  });
  return { row, details, status: destinationStatusOf(row, since, details) };
}

const COLUMNS: Column<DetailedRow>[] = [
  { title: 'DESTINATION', of: ({ status }) => status.name },
  {
    title: 'STATE',
    of: ({ status }) => status.state,
    paint: ({ status }) => paintOf(status.state),
  },
  { title: 'SINCE', of: ({ status }) => status.since },
  { title: 'WAITING', of: ({ row }) => pendingOf(row), right: true },
  { title: 'DEAD', of: ({ row }) => row.dead, right: true },
  {
    title: 'GOES ON',
    of: ({ status, details }) => goesOnInWords(status, details.waiting, Date.now()),
  },
  // The last one: it may be long.
  { title: 'WHY', of: ({ status }) => status.why },
];
