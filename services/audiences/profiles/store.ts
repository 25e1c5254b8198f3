import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { type ProfileReader, type Step } from './change-set';
import {
  behind,
  BOOT_FILE,
  DATA_FILE,
  encodeRow,
  HEADER_BYTES,
  isTrusted,
  keys,
  madeBy,
  Members,
  NOTHING,
  NUMBER_BYTES,
  numberKey,
  readHeader,
  readNumber,
  type Table,
} from './store-tables';
import { type Mark } from '../../../shared/kafka/record-name';
import { type PartitionState } from './partition-state';
import { type Profile } from './profile';
import { decodeProfile, encodeProfile } from './profile-codec';
import { type JsonObject } from '../../../shared/model/message';

/**
 * Stores the profiles of one partition on disk (LMDB): the engine reads them here. It is a copy of
 * the changelog.
 *
 * It is never ahead of the changelog, and can be discarded at any time. It is not synced to the
 * disk: a killed process loses nothing, and after a crash of the machine the store is not trusted
 * but rebuilt.
 *
 * | table     | key                              | value                                 |
 * | --------- | -------------------------------- | ------------------------------------- |
 * | profiles  | user                             | header (`RowHeader`), then JSON       |
 * | due       | when due, user                   |                                       |
 * | touched   | place of the last touch          | user                                  |
 * | unsent    | position of the message          | user, 0, definition                   |
 * | members   | definition, 0, user              |                                       |
 * | full      | user                             |                                       |
 * | about     | `meta`, `checkpoint`, `written`, | JSON                                  |
 * |           | `synced`                         |                                       |
 */

/** How far the store has the changelog. */
export interface Checkpoint {
  last: Mark;
  /** ms since 1970 */
  at: number;
}

/** Checked users to remove in one write; after a slow definition is deleted they may be many. */
const MAX_REMOVED = 5_000;

const TABLES = ['profiles', 'due', 'touched', 'unsent', 'members', 'full', 'about'] as const;

export class Store implements ProfileReader {
  readonly #env: RootDatabase;
  readonly #tables: Record<(typeof TABLES)[number], Table>;
  readonly #members: Members;
  #full: number | undefined;
  #written: number;
  #synced: Readonly<Record<string, number>>;
  #lastTouch: number;

  constructor(private readonly path: string) {
    if (!isTrusted(path, TABLES.length)) rmSync(path, { recursive: true, force: true });
    mkdirSync(path, { recursive: true });
    this.#env = open({
      path,
      maxDbs: TABLES.length,
      noSync: true,
      keyEncoding: 'binary',
      encoding: 'binary',
    });
    const tables = TABLES.map((name) => [
      name,
      this.#env.openDB<Buffer, Buffer>({ name, encoding: 'binary', keyEncoding: 'binary' }),
    ]);
    this.#tables = Object.fromEntries(tables) as Record<(typeof TABLES)[number], Table>;
    this.#members = new Members(this.#tables.members);
    writeFileSync(join(path, BOOT_FILE), madeBy());
    this.#synced = (this.#about('synced') ?? {}) as Record<string, number>;
    this.#written = Number(this.#about('written')?.records ?? 0);
    const [last] = this.#tables.touched.getKeys({ reverse: true, limit: 1 });
    this.#lastTouch = Math.max(last ? readNumber(last) : 0, ...Object.values(this.#synced));
  }

  get meta(): PartitionState | undefined {
    return this.#about('meta') as PartitionState | undefined;
  }

  get checkpoint(): Checkpoint | undefined {
    return this.#about('checkpoint') as Checkpoint | undefined;
  }

  setCheckpoint(checkpoint: Checkpoint): void {
    this.#env.transactionSync(() => {
      this.#putAbout('checkpoint', checkpoint);
      this.#putWritten(0);
    });
  }

  /** Number of records that its steps have in the changelog behind the checkpoint. */
  get written(): number {
    return this.#written;
  }

  get bytes(): number {
    return statSync(join(this.path, DATA_FILE)).size;
  }

  get size(): number {
    return (this.#tables.profiles.getStats() as { entryCount: number }).entryCount;
  }

  /** Users whose profiles are full. */
  get full(): number {
    return (this.#full ??= this.#tables.full.getKeysCount({}));
  }

  get(user: string): Profile | undefined {
    // A view without a copy, decoded before the next read. The buffer is longer than its `length`
    // says.
    const value = this.#tables.profiles.getBinaryFast(Buffer.from(user));
    return value && decodeProfile(value.subarray(HEADER_BYTES, value.length));
  }

  users(after: string | undefined, limit: number): string[] {
    const start = after === undefined ? undefined : behind(Buffer.from(after));
    return keys(this.#tables.profiles, { start, limit }).map(String);
  }

  touched(after: number, limit: number): { place: number; user: string }[] {
    return [...this.#tables.touched.getRange({ start: numberKey(after + 1), limit })].map(
      ({ key, value }) => ({ place: readNumber(key), user: value.toString() }),
    );
  }

  get lastTouch(): number {
    return this.#lastTouch;
  }

  get synced(): Readonly<Record<string, number>> {
    return this.#synced;
  }

  due(nowMs: number, limit: number): string[] {
    const found = keys(this.#tables.due, { end: numberKey(nowMs + 1), limit });
    return found.map((key) => key.toString('utf8', NUMBER_BYTES));
  }

  /** Returns messages after a position that are not known to be acknowledged. */
  unsent(after: number): { sequence: number; user: string; definition: string }[] {
    return [...this.#tables.unsent.getRange({ start: numberKey(after + 1) })].map(
      ({ key, value }) => {
        const text = value.toString();
        // An id of a user may contain a NUL, an id of a definition cannot.
        const end = text.lastIndexOf('\0');
        const [user, definition] = [text.slice(0, end), text.slice(end + 1)];
        return { sequence: readNumber(key), user, definition };
      },
    );
  }

  members(definition: string, after: string | undefined, limit: number): string[] {
    return this.#members.list(definition, after, limit);
  }

  memberCount(definition: string): number {
    return this.#members.count(definition);
  }

  write(step: Step, records = 0): void {
    this.#env.transactionSync(() => {
      const { profiles, due, touched } = step;
      for (const [user, profile] of profiles) {
        this.#put(user, profile, due.get(user), touched.has(user));
      }
      for (const [user, at] of due) {
        if (!profiles.has(user)) this.#mark(user, at, touched.has(user));
      }
      for (const { sequence, user, definition, value } of step.valueChanges) {
        this.#tables.unsent.putSync(numberKey(sequence), Buffer.from(`${user}\0${definition}`));
        this.#members.set(definition, user, value);
      }
      if (step.synced) this.#putSynced(step.synced.places);
      for (const id of Object.keys(this.meta?.defs ?? {})) {
        if (!step.meta.defs[id]) this.#members.drop(id);
      }
      this.#putAbout('meta', step.meta);
      this.#putWritten(this.#written + records);
    });
  }

  /** Removes messages that Kafka has acknowledged, up to `meta.sent`. */
  sent(meta: PartitionState): void {
    this.#env.transactionSync(() => {
      for (const key of keys(this.#tables.unsent, { end: numberKey(meta.sent + 1) })) {
        this.#tables.unsent.removeSync(key);
      }
      this.#putAbout('meta', meta);
    });
  }

  /**
   * Applies records of the changelog. The next sync of each definition checks their users.
   * @param how.dueAt when a profile is due
   * @param how.sent position up to which messages are known to be acknowledged
   */
  restore(
    records: readonly { user: string; profile: Profile | null }[],
    how: {
      dueAt: (profile: Profile) => number | undefined;
      sent: number;
    },
  ): void {
    const { dueAt, sent } = how;
    this.#env.transactionSync(() => {
      for (const { user, profile } of records) {
        this.#put(user, profile, profile ? dueAt(profile) : undefined, true);
        if (!profile) continue;
        this.#setMembers(user, profile);
        for (const [definition, [, , sequence]] of Object.entries(profile.sentValues ?? {})) {
          if (sequence <= sent) continue;
          this.#tables.unsent.putSync(numberKey(sequence), Buffer.from(`${user}\0${definition}`));
        }
      }
    });
  }

  /** Completes a restoration. */
  restored(meta: PartitionState, checkpoint: Checkpoint | undefined): void {
    this.sent(meta);
    if (checkpoint) this.setCheckpoint(checkpoint);
    this.#members.forgetCounts();
  }

  async close(): Promise<void> {
    await this.#env.close();
  }

  #about(name: string): JsonObject | undefined {
    const value = this.#tables.about.get(Buffer.from(name));
    return value && (JSON.parse(value.toString()) as JsonObject);
  }

  #putWritten(records: number): void {
    this.#written = records;
    this.#putAbout('written', { records });
  }

  #putAbout(name: 'meta' | 'checkpoint' | 'written' | 'synced', content: object): void {
    this.#tables.about.putSync(Buffer.from(name), Buffer.from(JSON.stringify(content)));
  }

  /** Stores how far each definition has checked users, and removes those that all have checked. */
  #putSynced(places: Readonly<Record<string, number>>): void {
    this.#synced = places;
    this.#putAbout('synced', places);
    const end = numberKey(Math.min(...Object.values(places)) + 1);
    for (const place of keys(this.#tables.touched, { end, limit: MAX_REMOVED })) {
      this.#tables.touched.removeSync(place);
    }
  }

  #put(user: string, profile: Profile | null, due = 0, touches: boolean): void {
    const key = Buffer.from(user);
    const before = readHeader(this.#tables.profiles.getBinaryFast(key));
    // Otherwise only a sent value changes which definitions a user is a member of.
    const isAbsent = profile?.absent === 1;
    if (!profile || isAbsent !== before.isAbsent) {
      this.#setMembers(user, profile ?? { ...this.get(user), absent: 1 });
    }
    this.#setFull(key, profile?.full === 1);
    this.#moveDue(key, before.due, profile ? due : 0);
    const touched = this.#moveTouch(key, before.touched, profile ? touches : null);
    if (!profile) this.#tables.profiles.removeSync(key);
    else {
      const header = { due, touched, isAbsent };
      this.#tables.profiles.putSync(key, encodeRow(header, encodeProfile(profile)));
    }
  }

  /** Changes only the header of a profile. */
  #mark(user: string, due = 0, touches: boolean): void {
    const key = Buffer.from(user);
    const row = this.#tables.profiles.get(key);
    if (!row) return;
    const before = readHeader(row);
    if (due === before.due && !touches) return;
    this.#moveDue(key, before.due, due);
    const touched = this.#moveTouch(key, before.touched, touches);
    const header = { ...before, due, touched };
    this.#tables.profiles.putSync(key, encodeRow(header, row.subarray(HEADER_BYTES)));
  }

  #setMembers(user: string, { absent, sentValues = {} }: Profile): void {
    for (const [definition, [value]] of Object.entries(sentValues)) {
      this.#members.set(definition, user, absent ? null : value);
    }
  }

  #setFull(user: Buffer, full: boolean): void {
    // As a rule no profile is full, and no lookup is needed.
    if (!full && this.full === 0) return;
    if (this.#tables.full.doesExist(user) === full) return;
    const count = this.full + (full ? 1 : -1);
    if (full) this.#tables.full.putSync(user, NOTHING);
    else this.#tables.full.removeSync(user);
    this.#full = count;
  }

  #moveDue(user: Buffer, before: number, due: number): void {
    if (before === due) return;
    if (before > 0) this.#tables.due.removeSync(Buffer.concat([numberKey(before), user]));
    if (due > 0) this.#tables.due.putSync(Buffer.concat([numberKey(due), user]), NOTHING);
  }

  /** @param touches null: forgets the user. @returns the place of the last touch */
  #moveTouch(user: Buffer, before: number, touches: boolean | null): number {
    if (touches === false) return before;
    if (before > 0) this.#tables.touched.removeSync(numberKey(before));
    if (touches === null) return 0;
    this.#tables.touched.putSync(numberKey(++this.#lastTouch), user);
    return this.#lastTouch;
  }
}
