import { type Input } from '../shared/api/client';
import { type Operations } from '../shared/api/operations';
import { compact } from '../shared/collections/defined';
import { printable } from '../shared/runtime/printable';
import { type About, type CommandOption, type Group, type Session, whole } from './command';
import { counted } from './confirm';
import { type ListId, readRows, type Row } from './connect/api';
import { deleteEntry, type Entry, find, type Kind, type NamedKind } from './entries';
import { type Fields, optionsOf, readFields } from './fields';
import { type Column } from './output/table';

/**
 * The commands that most resources have: list, show, delete. A table describes each; the API's
 * table types it.
 */

type Query<N extends ListId> = NonNullable<Operations[N]['query']>;

interface List<N extends ListId> extends About {
  /** the operation that lists the rows */
  from: N;
  columns: Column<Row<N>>[] | ((session: Session, rows: Row<N>[]) => Promise<Column<Row<N>>[]>);
  /** text to print instead of an empty table */
  empty: string;
  /** options by parameter of the query */
  filters?: Fields<Query<N>>;
  /** parameters that no option sets */
  query?: Partial<Query<N>>;
  /** absent: no --limit, and the whole list */
  limited?: Limits;
  /** Returns what to say below the table, or below `empty`. */
  hint?: (query: Partial<Query<N>>, rows: Row<N>[]) => string | undefined;
}

/** Of a list that may be very long. */
interface Limits {
  /** greatest number of --limit */
  most: number;
  /** what its rows are, for the count below them */
  one: string;
  many: string;
}

/** Greatest number of --limit of most lists. */
export const MOST_ROWS = 100_000;
export const LIMIT: CommandOption = ['--limit <n>', 'maximum number (default 50)'];

export interface Limited {
  limit?: string;
}

/** @throws CliError */
export function limitOf({ limit = '50' }: Limited, most = MOST_ROWS): number {
  return whole(limit, '--limit', [1, most]);
}

export function addList<N extends ListId>(group: Group, syntax: string, list: List<N>): void {
  const { from, columns, empty, filters = {}, limited, hint } = list;
  const options = compact([...optionsOf(filters), limited && LIMIT]);
  // A noun alone lists.
  const isDefault = syntax === 'list';
  group.leaf<Limited>(syntax, { ...list, options, isDefault }, async (session, given) => {
    const { print } = session;
    const query = await readFields(session, given, filters);
    const limit = limited === undefined ? Infinity : limitOf(given, limited.most);
    const input = { query: { ...query, ...list.query } } as unknown as Input<N>;
    const { rows, hasMore } = await readRows(session.api(), from, input, limit);
    if (print.json) {
      print.rows([], rows, empty);
      return;
    }
    const isTable = typeof columns !== 'function';
    const shown = isTable ? columns : rows.length > 0 ? await columns(session, rows) : [];
    print.rows(shown, rows, empty);
    if (limited && rows.length > 0) print.note(countOf(rows.length, hasMore, limited));
    const said = hint?.(query, rows);
    if (said !== undefined) print.note(said);
  });
}

function countOf(rows: number, hasMore: boolean, { one, many }: Limits): string {
  const count = counted(rows, one, many);
  return hasMore ? `${count}, and there may be more: --limit shows them.` : `${count}.`;
}

interface Show<K extends Kind> extends About {
  show: (session: Session, entry: Entry<K>) => void | Promise<void>;
}

export function addShow<K extends Kind>(group: Group, kind: K, { show, ...about }: Show<K>): void {
  group.leaf(`show <${kind}>`, about, async (session, _, given = '') =>
    show(session, await find(session.api(), kind, given)),
  );
}

interface Delete<K extends NamedKind> extends About {
  /** the command; default: `delete` */
  verb?: 'delete' | 'revoke';
  /** Says what ends with the entry. */
  consequence: (entry: Entry<K>, session: Session) => string | Promise<string>;
}

export function addDelete<K extends NamedKind>(
  group: Group,
  kind: K,
  { verb = 'delete', consequence, ...about }: Delete<K>,
): void {
  group.leaf(`${verb} <${kind}>`, { ...about, asks: 'always' }, async (session, _, given = '') => {
    const entry: Entry<NamedKind> = await find<NamedKind>(session.api(), kind, given);
    const { id } = entry;
    await session.confirm(
      async () =>
        `${capitalized(verb)} ${named(kind, entry)}? ${await consequence(entry as Entry<K>, session)}`,
    );
    await deleteEntry(session.api(), kind, entry);
    session.print.thing({ id, deleted: true }, [[`${verb}d`, id]]);
  });
}

/** Names an entry in a question. */
export function named(kind: NamedKind, { id, name }: { id: string; name: string }): string {
  return `${kind} "${printable(name)}" (${id})`;
}

function capitalized(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}
