import { type InRecord } from '../../../shared/kafka/port';
import { parseMessage } from '../../../shared/model/message-codec';
import { Periodic } from '../../../shared/runtime/async';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { type History } from '../history/history';
import { addEventNames, countedPositions, type EventName, type CountedPosition } from './store';

/**
 * Counts track events by source and name, from the records that the debugger reads anyway, and
 * writes the counts several times a minute, and before the API reads them. Positions are written
 * with the counts, so that a new process counts no record again. Events that arrive while control
 * is down count as far as the debugger looks back.
 */

const WRITE_EVERY_MS = 15_000;
/** Names that wait while the database is away. */
const MAX_WAITING = 20_000;
/** Longer names cannot be blocked either. */
const MAX_NAME_CHARACTERS = 500;
/** Found without parsing. A record with this text elsewhere is parsed in vain. */
const TRACK = Buffer.from('"track"');

interface Part {
  from: number;
  to: number;
  events: Map<string, EventName>;
}

export class EventNames {
  #parts = new Map<number, Part>();
  #waiting = 0;
  /** positions counted before this process started; undefined until read from the database */
  #counted: ReadonlyMap<number, number> | undefined;
  readonly #writing = new Periodic(WRITE_EVERY_MS, () => this.#write());

  constructor(
    private readonly history: Pick<History, 'ask'>,
    private readonly log: Log,
  ) {}

  /** Call before the first record. Without a database it counts as well. */
  async readPositions(): Promise<void> {
    this.#counted = await this.history.ask(countedPositions).catch(() => undefined);
  }

  start(): void {
    this.#writing.start();
  }

  add(record: InRecord): void {
    const { partition, offset, headers, timestampMs } = record;
    if (offset < (this.#counted?.get(partition) ?? 0)) return;
    let part = this.#parts.get(partition);
    if (!part) {
      this.#parts.set(
        partition,
        (part = { from: offset, to: offset, events: new Map<string, EventName>() }),
      );
    }
    part.to = offset + 1;
    const { source } = headers;
    const name = headers.event ?? nameIn(record.value);
    if (
      source === undefined ||
      typeof name !== 'string' ||
      name === '' ||
      name.length > MAX_NAME_CHARACTERS
    ) {
      return;
    }
    const key = `${source} ${name}`;
    const known = part.events.get(key);
    if (known) {
      known.count++;
      known.lastAt = timestampMs;
    } else if (this.#waiting < MAX_WAITING) {
      this.#waiting++;
      part.events.set(key, { source, name, count: 1, lastAt: timestampMs });
    }
  }

  /** Writes the current counts. Never throws: counts that could not be written wait. */
  write(): Promise<void> {
    return this.#writing.now();
  }

  stop(): Promise<void> {
    return this.#writing.end();
  }

  async #write(): Promise<void> {
    const parts: CountedPosition[] = Array.from(
      this.#parts,
      ([partition, { from, to, events }]) => ({
        partition,
        from,
        to,
        events: [...events.values()],
      }),
    );
    if (parts.length === 0) return;
    const [before, waiting] = [this.#parts, this.#waiting];
    this.#parts = new Map();
    this.#waiting = 0;
    try {
      await this.history.ask((database) => addEventNames(database, parts));
    } catch (error) {
      this.log.debug({ reason: messageOf(error) }, 'events.not_counted');
      for (const [partition, late] of this.#parts) {
        before.set(partition, joined(before.get(partition), late));
      }
      this.#parts = before;
      this.#waiting += waiting;
    }
  }
}

/**
 * Returns the name of a track call whose record does not name it in a header, because it is long.
 */
function nameIn(value: Buffer | null): unknown {
  const message = value?.includes(TRACK) ? parseMessage(value) : '';
  return typeof message === 'string' || message.type !== 'track' ? undefined : message.event;
}

function joined(first: Part | undefined, then: Part): Part {
  if (!first) return then;
  const events = new Map(first.events);
  for (const [key, event] of then.events) {
    events.set(key, { ...event, count: event.count + (events.get(key)?.count ?? 0) });
  }
  return { from: first.from, to: then.to, events };
}
