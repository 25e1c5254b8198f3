import { stringifyJson } from '../../../shared/json/json';
import { hash } from 'node:crypto';
import { type Message, messageHeaders, messageKey } from '../../../shared/model/message';
import { FORMAT_HEADER } from '../../../shared/model/record-format';
import { AppError, messageOf, requireKnownFormat } from '../../../shared/runtime/errors';
import { type BatchProducer, type InRecord, type OutRecord } from '../../../shared/kafka/port';
import { type Refused, sendEach } from '../../../shared/kafka/send-each';
import { MESSAGES, PROFILE_EVENTS, PROFILES } from '../../../shared/kafka/topics';
import { type Log } from '../../../shared/telemetry/log';
import { newTraceparent } from '../../../shared/telemetry/trace';
import { type Definition, type Definitions } from '../definitions/compile';
import { DEFINITION_HEADER, encodeEvent } from '../repartition/event';
import { watchRefused } from '../telemetry';
import { type Step, type ValueChange } from './change-set';
import { type Engine } from './engine';
import { type PartitionState } from './partition-state';
import { markedFull, type Profile } from './profile';
import { decodeToCopy, encodeProfile } from './profile-codec';
import { type Store } from './store';

/** The target of a step's records. */
export interface Writing {
  producer: Pick<BatchProducer, 'send'>;
  partition: number;
  /** the profile before the step */
  before: (user: string) => Profile | undefined;
  /** called once for each user and step that was refused */
  onRefused: (error: AppError, bytes: number) => void;
}

export interface StepWriterOptions {
  producer: Pick<BatchProducer, 'send'>;
  partition: number;
  definitions: () => Definitions;
  /** true once another process may own the partition */
  isLost: () => boolean;
  /** returns whether the changelog shows that another process owns the partition */
  isOvertaken: () => Promise<boolean>;
  log: Log;
}

/**
 * Writes the steps of one partition, each in this order: moves, the changelog, the store, messages.
 * Each write waits for Kafka's acknowledgement of the one before.
 */
export class StepWriter {
  readonly #writing: Writing;

  constructor(
    private readonly parts: {
      store: Pick<Store, 'get' | 'unsent' | 'sent'>;
      engine: Engine;
    },
    private readonly options: StepWriterOptions,
  ) {
    const { producer, partition, log } = options;
    this.#writing = {
      producer,
      partition,
      before: (user) => parts.store.get(user),
      onRefused: (error, bytes) =>
        log.error({ partition, bytes, reason: messageOf(error.cause ?? error) }, 'profile.refused'),
    };
  }

  /** @returns false if there was no step, or the partition was lost */
  async write(step: Step | undefined): Promise<boolean> {
    const { engine } = this.parts;
    if (!step || this.options.isLost()) return false;
    const { step: written, records } = await writeStep(step, this.#writing);
    if (this.options.isLost()) return false;
    engine.commit(written, records);
    watchRefused(written.refused);
    await this.#send(written.valueChanges, written.meta.told);
    return true;
  }

  /**
   * Sends again the messages that the previous owner wrote and that may not have arrived, with
   * their ids and values.
   */
  async sendUnsent(): Promise<void> {
    const { store, engine } = this.parts;
    const unsent = store
      .unsent(engine.meta.sent)
      .flatMap(({ sequence, user, definition }): ValueChange[] => {
        const [value, atMs, last] = store.get(user)?.sentValues?.[definition] ?? [];
        // A later value was emitted since.
        if (value === undefined || atMs === undefined || last !== sequence) return [];
        return [{ sequence, user, definition, value, atMs }];
      });
    await this.#send(unsent, engine.meta.told);
  }

  /**
   * Sends nothing that may be void: no other process knows it, so that nobody would correct it.
   * @param upTo position up to which these messages are complete
   */
  async #send(values: readonly ValueChange[], upTo: number): Promise<void> {
    const { store, engine } = this.parts;
    const { definitions, isLost, isOvertaken } = this.options;
    if (engine.meta.sent >= upTo || (await isOvertaken())) return;
    const known = definitions();
    const records = values.flatMap((change) => {
      const definition = known.of(change.definition);
      if (!definition) return [];
      // A timestamp is later than the one before, even if the clock has stepped back.
      const atMs = Math.min(change.atMs, engine.readUntilMs);
      return identifyRecord(change, definition, { atMs, traceparent: newTraceparent() });
    });
    watchRefused((await refused(records, this.#writing)).size);
    if (isLost()) return;
    engine.meta = { ...engine.meta, sent: upTo };
    store.sent(engine.meta);
  }
}

interface Written {
  /** the step as written */
  step: Step;
  /** number of changelog records */
  records: number;
}

/**
 * Writes a step to Kafka, without the users whose records Kafka refuses permanently (too large, as
 * a rule): one user must not block the others of a partition. Such a user keeps the profile from
 * before the step and is marked as full. If Kafka refuses that too, the user's traits and counters
 * are dropped.
 * @throws errors of `send` that concern more than one user's record; the process must end then
 */
export async function writeStep(step: Step, writing: Writing): Promise<Written> {
  const { partition, before } = writing;
  const moves = moveRecords(step);
  const stuck = await refused(moves, writing);
  const from = new Set([...stuck.keys()].map((i) => step.moves[i]?.from ?? ''));
  let current = from.size === 0 ? step : without(step, from, (user) => before(user) ?? null);
  const again = new Set<string>();
  for (;;) {
    const users = [...current.profiles.keys()];
    const records = changelogRecords(current, partition);
    const bad = [...(await refused(records, writing)).keys()].map((i) => users[i]);
    if (bad.length === 0) return { step: current, records: records.length };
    // The last record is the state. It is small, so Kafka refuses all records at present.
    if (bad.includes(undefined)) throw new AppError('kafka_unavailable', NOTHING_TAKEN);
    for (const user of bad as string[]) {
      const known = before(user);
      const kept = again.has(user) ? emptied(known) : (known ?? null);
      if (again.has(user) && kept === null) throw new AppError('kafka_unavailable', NOTHING_TAKEN);
      current = without(current, new Set([user]), () => kept);
      again.add(user);
    }
  }
}

const NOTHING_TAKEN =
  'Kafka refuses every record of topic profiles; look at its log, its limits and the ACLs ' +
  'of the topic';

/** Sends records. @returns the permanently refused ones, by their index; the others are written */
export async function refused(
  records: OutRecord[],
  { producer, onRefused }: Omit<Writing, 'partition' | 'before'>,
): Promise<Refused> {
  const found = await sendEach(producer, records);
  for (const [i, error] of found) onRefused(error, records[i]?.value?.length ?? 0);
  return found;
}

/** Returns the step with other, marked profiles of some users, and without their messages. */
function without(
  step: Step,
  users: ReadonlySet<string>,
  kept: (user: string) => Profile | null,
): Step {
  const profiles = new Map(step.profiles);
  for (const user of users) {
    const profile = kept(user);
    profiles.set(user, profile && markedFull(profile, true));
  }
  return {
    ...step,
    profiles,
    moves: step.moves.filter(({ from }) => !users.has(from)),
    valueChanges: step.valueChanges.filter(({ user }) => !users.has(user)),
    refused: step.refused + users.size,
  };
}

/** Keeps the sent values, so that receivers still get later changes. */
function emptied(profile: Profile | undefined): Profile | null {
  if (!profile) return null;
  const { traits, counters, uploadedMemberships, ...rest } = profile;
  return traits || counters || uploadedMemberships ? rest : null;
}

/** Keys of the changelog's records. */
const USER = 'u';
const META = 'm';

/** Returns the records that move to other profiles. */
export function moveRecords({ moves }: Step): OutRecord[] {
  return moves.map(({ user, event, origin, acceptedAt }) => ({
    topic: PROFILE_EVENTS,
    key: user,
    ...encodeEvent(event, { origin, acceptedAt }),
  }));
}

/**
 * Returns the changed profiles, and the state last. If the state is missing, the step is repeated.
 */
export function changelogRecords({ profiles, meta }: Step, partition: number): OutRecord[] {
  const headers = { format: FORMAT_HEADER, [TERM_HEADER]: String(meta.term ?? 0) };
  const record = (key: string, value: OutRecord['value']): OutRecord => ({
    topic: PROFILES,
    key,
    value,
    partition,
    headers,
  });
  const changed = Array.from(profiles, ([user, profile]) =>
    record(USER + user, profile && encodeProfile(profile)),
  );
  return [...changed, record(META, JSON.stringify(meta))];
}

/** The term of the record's writer (`PartitionState.term`). */
const TERM_HEADER = 'term';

/** Returns the term of the process that wrote a record of the changelog. */
export function termOf({ headers }: Pick<InRecord, 'headers'>): number {
  return Number(headers[TERM_HEADER] ?? 0);
}

/** A record of the changelog as read. */
export type Change =
  | { kind: 'meta'; meta: PartitionState }
  | { kind: 'profile'; user: string; profile: Profile | null };

/** @throws AppError `newer_format` */
export function readChange(record: InRecord): Change | undefined {
  requireKnownFormat(record, 'this audiences process');
  const { key, value } = record;
  const name = key?.toString() ?? '';
  if (name === META) {
    return value
      ? { kind: 'meta', meta: JSON.parse(value.toString()) as PartitionState }
      : undefined;
  }
  if (!name.startsWith(USER)) return undefined;
  return { kind: 'profile', user: name.slice(USER.length), profile: value && decodeToCopy(value) };
}

/**
 * Returns the message of a changed value, from the definition's own source. Its id is derived from
 * its content, so that the router recognises a message that is sent again after a crash as a
 * duplicate. It is older than a deletion of its user that the profile does not know yet.
 */
function identifyRecord(
  { user, value, atMs }: Pick<ValueChange, 'user' | 'value' | 'atMs'>,
  { kind, id, name, key, source }: Definition,
  made: { atMs: number; traceparent: string },
): OutRecord {
  const at = new Date(atMs).toISOString();
  const message: Message = {
    type: 'identify',
    messageId: `${id}-${hash('sha256', `${id}\0${user}\0${at}`).slice(0, 24)}`,
    timestamp: at,
    receivedAt: at,
    userId: user,
    traits: { [key]: value },
    context: { [kind === 'audience' ? 'audience' : 'computedTrait']: { id, name } },
  };
  const times = { acceptedAtMs: made.atMs, traceparent: made.traceparent };
  const headers = {
    ...messageHeaders(source, message, times),
    [DEFINITION_HEADER]: id,
  };
  return {
    topic: MESSAGES,
    key: messageKey(source, message),
    value: stringifyJson(message),
    headers,
  };
}
