import { ExactNumber } from '../../shared/json/json';
import { type Event } from '../../shared/api/operations';
import { printable } from '../../shared/runtime/printable';
import { paintOf } from './paint';
import { type Column } from './table';

/** Events as rows of a list, and as lines of a stream. */

export const EVENT_COLUMNS: Column<Event>[] = [
  { title: 'AT', of: ({ at }) => at },
  { title: 'CALL', of: stateOf, paint: (event) => paintOf(stateOf(event)) },
  { title: 'TYPE', of: (event) => partOf(event, 'type') },
  { title: 'USER', of: userOf },
  { title: 'WHAT', of: whatOf },
  { title: 'WHY', of: whyOf },
];

export function eventLine(event: Event, colour: boolean): string {
  const [at, state, ...rest] = EVENT_COLUMNS.map((column) =>
    printable(String(column.of(event) ?? '')),
  );
  const shown = colour ? paintOf(state ?? '')(state ?? '') : state;
  return [at, shown, ...rest].filter((text) => text !== '').join('  ');
}

/** Names an event in a few words: the event of a track, the name of a page, the group. */
export function whatOf({ call }: { call: unknown }): string | undefined {
  return ['event', 'name', 'groupId', 'previousId']
    .map((key) => textOf(call, key))
    .find((text) => text !== undefined);
}

export function userOf({ call }: { call: unknown }): string | undefined {
  return textOf(call, 'userId') ?? textOf(call, 'anonymousId');
}

function partOf({ call }: Event, key: string): string | undefined {
  return textOf(call, key);
}

function textOf(call: unknown, key: string): string | undefined {
  if (typeof call !== 'object' || call === null) return undefined;
  const value = (call as Record<string, unknown>)[key];
  const isId =
    typeof value === 'string' || typeof value === 'number' || value instanceof ExactNumber;
  return isId ? String(value) : undefined;
}

/** Says why it was rejected, and for how many calls it stands; or what could not be read. */
function whyOf({ code, message, count, warnings }: Event): string | undefined {
  if (code !== undefined) {
    const times = count === undefined ? '' : ` (${count} ${count === 1 ? 'call' : 'calls'})`;
    return `${code}: ${message ?? ''}${times}`;
  }
  return warnings.length > 0 ? warnings.join(', ') : undefined;
}

function stateOf({ accepted }: Event): string {
  return accepted ? 'accepted' : 'rejected';
}
