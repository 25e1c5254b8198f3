import { type Lookup } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { messageOf } from '../../shared/runtime/errors';
import { type Group, type Listed, type Session } from '../command';
import { readAgain } from '../connect/read-again';
import { namesOf } from '../entries';
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
interface Line extends Pick<Row, 'message' | 'acceptedAt' | 'source'> {
  destination: string;
  outcome: string;
  reason: string | null;
}

const COLUMNS: Column<Line>[] = [
  { title: 'ACCEPTED', of: ({ acceptedAt }) => acceptedAt },
  { title: 'MESSAGE', of: ({ message }) => message },
  { title: 'SOURCE', of: ({ source }) => source },
  { title: 'DESTINATION', of: ({ destination }) => destination },
  { title: 'OUTCOME', of: ({ outcome }) => outcome, paint: ({ outcome }) => paintOf(outcome) },
  { title: 'WHY', of: ({ reason }) => reason },
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
      nothing = 'Kafka has no such event.';
    } else {
      print.note(`Searched back to ${searched.from}.`);
      nothing = `Kafka got no such event since ${searched.from}. What is older was not searched.`;
    }
    const isFound = message !== undefined && rows.length > 0;
    if (next === null || isFound || rows.length >= limit || world.stop.aborted) break;
    after = next;
  }
  // What was found is not lost if a later page fails.
  if (failure !== undefined && rows.length === 0) throw failure;
  if (print.json) print.rows([], rows, '');
  else {
    const names = await namesOf(api(), ['source', 'destination']);
    print.rows(
      COLUMNS,
      rows.flatMap((row) => linesOf(row, (id) => names.get(id) ?? id)),
      nothing,
    );
  }
  if (failure !== undefined) throw failure;
}

function linesOf({ destinations, source, ...rest }: Row, nameOf: (id: string) => string): Line[] {
  const row = { ...rest, source: nameOf(source) };
  if (destinations.length === 0) {
    return [{ ...row, destination: '-', outcome: 'dropped', reason: 'no destination' }];
  }
  return destinations.map(({ id, ...outcome }) => ({
    ...row,
    destination: nameOf(id),
    ...outcome,
  }));
}
