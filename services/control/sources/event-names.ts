import { type InRecord } from '../../../shared/kafka/port';
import { MESSAGES } from '../../../shared/kafka/topics';
import { parseMessage } from '../../../shared/model/message-codec';
import { type Handler } from '../reading/reader';
import { addEventNames, ANY_CALL, type EventName } from './store';

/** Counts track events by source and name, and all calls of each source. */

/** Look-back of a new database. */
const LOOK_BACK_MS = 3_600_000;
/** Longer names cannot be blocked either. */
const MAX_NAME_CHARACTERS = 500;
/** Found without parsing. A record with this text elsewhere is parsed in vain. */
const TRACK = Buffer.from('"track"');

export function eventNamesHandler(nowMs: () => number): Handler<EventName> {
  return {
    name: 'event_names',
    topic: MESSAGES,
    sinceMs: () => nowMs() - LOOK_BACK_MS,
    entriesOf: eventNamesOf,
    write: async (transaction, events) => {
      await addEventNames(transaction, events);
      return undefined;
    },
  };
}

function eventNamesOf({ headers, value, timestampMs: lastAt }: InRecord): EventName[] {
  const { source } = headers;
  if (source === undefined) return [];
  const name = headers.event ?? nameIn(value);
  const isShown = typeof name === 'string' && name.length <= MAX_NAME_CHARACTERS;
  return [{ source, name: isShown ? name : ANY_CALL, count: 1, lastAt }];
}

/**
 * Returns the name of a track call whose record does not name it in a header, because it is long.
 */
function nameIn(value: Buffer | null): unknown {
  const message = value?.includes(TRACK) ? parseMessage(value) : '';
  return typeof message === 'string' || message.type !== 'track' ? undefined : message.event;
}
