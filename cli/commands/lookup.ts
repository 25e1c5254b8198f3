import { type Lookup } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { quoted } from '../../shared/model/curl';
import { messageOf } from '../../shared/runtime/errors';
import { type Group, type Listed, type Session } from '../command';
import { readAgain } from '../connect/read-again';
import { listReadable } from '../entries';
import { whyInWords } from '../explain/lookup';
import { paintOf } from '../output/paint';
import { type Column } from '../output/table';
import { usage } from '../process-context';
import { LIMIT, limitOf, type Limited } from '../resource';

/** `waypost lookup`: accepted events in Kafka, and what became of each. */

interface LookupOptions extends Limited {
  message?: string;
  user?: string;
}

type Row = Lookup['data'][number];

/** One line for each destination of an event, or one that says that there is none. */
interface Line extends Omit<Row, 'destinations'> {
  destination: string;
  outcome: string;
  why: string | undefined;
  delivery: string | undefined;
}

/** What the table shows of an entry that only has an id otherwise. */
interface NamedEntry {
  name: string;
  filter?: string | null;
}

const COLUMNS: Column<Line>[] = [
  { title: 'ACCEPTED', of: ({ acceptedAt }) => acceptedAt },
  { title: 'MESSAGE', of: ({ message }) => message },
  { title: 'SOURCE', of: ({ source }) => source },
  { title: 'TYPE', of: ({ type }) => type },
  { title: 'EVENT', of: ({ event }) => event },
  { title: 'DESTINATION', of: ({ destination }) => destination },
  { title: 'OUTCOME', of: ({ outcome }) => outcome, paint: ({ outcome }) => paintOf(outcome) },
  { title: 'DELIVERY', of: ({ delivery }) => delivery },
  { title: 'WHY', of: ({ why }) => why },
];

/** Few events are sought at once. */
const MOST_ROWS = 1_000;
const MOST_OF_A_PAGE = 200;

export function addLookup(program: Group, { syntax, summary }: Listed): void {
  program.leaf<LookupOptions>(
    syntax,
    {
      summary,
      example: 'lookup --user user-1',
      options: [
        ['--message <id>', 'the messageId'],
        ['--user <id>', 'a userId or an anonymousId'],
        LIMIT,
      ],
      more:
        'It reads the events in Kafka, also those that no destination got. For a destination ' +
        'without a delivery\nthe present settings decide.',
    },
    lookUp,
  );
}

/** @throws CliError */
async function lookUp(session: Session, options: LookupOptions): Promise<void> {
  const { api, print, world } = session;
  const { message, user } = options;
  if ((message === undefined) === (user === undefined)) {
    throw usage('Give either --message or --user.');
  }
  const limit = limitOf(options, MOST_ROWS);
  const rows: Row[] = [];
  let nothing = '';
  let failure: Error | undefined;
  for (let after: string | undefined; ;) {
    const query = {
      ...defined({ message, user, after }),
      limit: Math.min(MOST_OF_A_PAGE, limit - rows.length),
    };
    const read = () => api().call('GET /lookup', { query });
    // Between two pages others may have taken the place of this search.
    const found = await (after === undefined ? read() : readAgain(session, read)).catch(
      (error: unknown) => {
        failure = error instanceof Error ? error : new Error(messageOf(error));
        return undefined;
      },
    );
    if (!found) break;
    const { data: page } = found;
    rows.push(...page.data);
    const { searched, next } = page;
    if (searched.complete) {
      print.note('Searched all that Kafka keeps.');
      nothing = `Kafka has no ${soughtEvent(options)}`;
    } else {
      print.note(`Searched back to ${searched.from}.`);
      nothing =
        `Since ${searched.from} Kafka got no ${soughtEvent(options)}\n` +
        'What is older was not searched.';
    }
    const isFound = message !== undefined && rows.length > 0;
    if (next === null || isFound || rows.length >= limit || world.stop.aborted) break;
    after = next;
  }
  // What was found is not lost if a later page fails.
  if (failure !== undefined && rows.length === 0) throw failure;
  if (print.json) print.rows([], rows, '');
  else {
    const [sources, destinations] = await Promise.all([
      listReadable(api(), 'source'),
      listReadable(api(), 'destination'),
    ]);
    const known = new Map<string, NamedEntry>(
      [...sources, ...destinations].map((entry) => [entry.id, entry]),
    );
    print.rows(
      COLUMNS,
      rows.flatMap((row) => linesOf(row, known)),
      nothing,
    );
  }
  if (failure !== undefined) throw failure;
}

/** Names an event that was not found. */
function soughtEvent({ message, user = '' }: LookupOptions): string {
  if (message === undefined) return `event of the user ${user}.`;
  return (
    `event with the messageId ${message}.\n` +
    `For an order number or another value in an event: waypost deliveries --search ${quoted(message)}`
  );
}

function linesOf(row: Row, known: ReadonlyMap<string, NamedEntry>): Line[] {
  const { destinations, ...event } = row;
  const line = { ...event, source: known.get(event.source)?.name ?? event.source };
  if (destinations.length === 0) {
    return [
      {
        ...line,
        destination: '-',
        outcome: 'dropped',
        why: 'no destination',
        delivery: undefined,
      },
    ];
  }
  return destinations.map(({ id, outcome, reason, delivery }) => {
    const destination = known.get(id);
    return {
      ...line,
      destination: destination?.name ?? id,
      // Elsewhere a delivery has the word of its status.
      outcome: delivery?.status ?? outcome,
      why: whyInWords({ outcome, reason }, destination?.filter),
      delivery: delivery?.id,
    };
  });
}
