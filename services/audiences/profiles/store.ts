import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { type ProfileReader, type Step } from './change-set';
import {
  behind,
  BOOT_FILE,
  bootId,
  DATA_FILE,
  isTrusted,
  keys,
  Members,
  NOTHING,
  NUMBER_BYTES,
  numberKey,
  type Table,
  userKey,
  withPrefix,
} from './store-tables';
import { type PartitionState } from './partition-state';
import { decodeProfile, encodeProfile, type Profile, type SentValue } from './profile';
import { type JsonObject } from '../../../shared/model/message';

/**
 * Stores the profiles of one partition on disk (LMDB): the engine reads them here. It is a copy of
 * the changelog.
 *
 * It is never ahead of the changelog, and can be discarded at any time. It is not synced to the
 * disk: a killed process loses nothing, and after a crash of the machine the store is not trusted
 * but rebuilt.
 *
 * | table     | key                     | value                                   |
 * | --------- | ----------------------- | --------------------------------------- |
 * | profiles  | user                    | when due (8 bytes, 0: never), then JSON |
 * | due       | when due, user          |                                         |
 * | touched   | interval, user          |                                         |
 * | unsent    | position of the message | user, 0, definition                     |
 * | members   | definition, 0, user     |                                         |
 * | full      | user                    |                                         |
 * | about     | `meta`, `checkpoint`    | JSON                                    |
 */

/** The changelog offset up to which the store is complete. */
export interface Checkpoint {
  next: number;
  /** ms since 1970 */
  at: number;
}

const TABLES = ['profiles', 'due', 'touched', 'unsent', 'members', 'full', 'about'] as const;

export class Store implements ProfileReader {
  readonly #env: RootDatabase;
  readonly #tables: Record<(typeof TABLES)[number], Table>;
  readonly #members: Members;
  #full: number | undefined;

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
    writeFileSync(join(path, BOOT_FILE), bootId());
  }

  get meta(): PartitionState | undefined {
    return this.#about('meta') as PartitionState | undefined;
  }

  get checkpoint(): Checkpoint | undefined {
    return this.#about('checkpoint') as Checkpoint | undefined;
  }

  setCheckpoint(checkpoint: Checkpoint): void {
    this.#tables.about.putSync(Buffer.from('checkpoint'), Buffer.from(JSON.stringify(checkpoint)));
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
    return value && decodeProfile(value.subarray(NUMBER_BYTES, value.length));
  }

  users(after: string | undefined, limit: number): string[] {
    const start = after === undefined ? undefined : behind(Buffer.from(after));
    return keys(this.#tables.profiles, { start, limit }).map(String);
  }

  touched(intervalMs: number, limit: number): string[] {
    const prefix = numberKey(intervalMs);
    return withPrefix(this.#tables.touched, prefix, { limit }).map(String);
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
        return { sequence: Number(key.readBigUInt64BE()), user, definition };
      },
    );
  }

  members(definition: string, after: string | undefined, limit: number): string[] {
    return this.#members.list(definition, after, limit);
  }

  memberCount(definition: string): number {
    return this.#members.count(definition);
  }

  write(step: Step): void {
    this.#env.transactionSync(() => {
      const { touched, synced } = step;
      if (synced) {
        for (const user of synced.users) {
          this.#tables.touched.removeSync(userKey(synced.intervalMs, user));
        }
      }
      for (const [user, profile] of step.profiles) this.#put(user, profile, step.due.get(user));
      for (const [user, due] of step.due) if (!step.profiles.has(user)) this.#setDue(user, due);
      for (const intervalMs of touched.intervalsMs) {
        for (const user of touched.users) {
          this.#tables.touched.putSync(userKey(intervalMs, user), NOTHING);
        }
      }
      for (const { sequence, user, definition, value } of step.valueChanges) {
        this.#tables.unsent.putSync(numberKey(sequence), Buffer.from(`${user}\0${definition}`));
        this.#members.set(definition, user, value);
      }
      for (const id of Object.keys(this.meta?.defs ?? {})) {
        if (!step.meta.defs[id]) this.#members.drop(id);
      }
      this.#putMeta(step.meta);
    });
  }

  /** Removes messages that Kafka has acknowledged, up to `meta.sent`. */
  sent(meta: PartitionState): void {
    this.#env.transactionSync(() => {
      for (const key of keys(this.#tables.unsent, { end: numberKey(meta.sent + 1) })) {
        this.#tables.unsent.removeSync(key);
      }
      this.#putMeta(meta);
    });
  }

  /**
   * Applies records of the changelog.
   * @param how.dueAt when a profile is due
   * @param how.intervalsMs the next sync of each interval checks all restored users
   * @param how.sent position up to which messages are known to be acknowledged
   */
  restore(
    records: readonly { user: string; profile: Profile | null }[],
    how: {
      dueAt: (profile: Profile) => number | undefined;
      intervalsMs: readonly number[];
      sent: number;
    },
  ): void {
    const { dueAt, intervalsMs, sent } = how;
    this.#env.transactionSync(() => {
      for (const { user, profile } of records) {
        this.#put(user, profile, profile ? dueAt(profile) : undefined);
        for (const intervalMs of intervalsMs) {
          this.#tables.touched.putSync(userKey(intervalMs, user), NOTHING);
        }
        for (const [definition, sentValue] of Object.entries(profile?.s ?? {})) {
          this.#restoreSentValue(user, definition, sentValue, sent);
        }
      }
    });
  }

  #restoreSentValue(
    user: string,
    definition: string,
    [value, , sequence]: SentValue,
    sent: number,
  ): void {
    if (sequence > sent) {
      this.#tables.unsent.putSync(numberKey(sequence), Buffer.from(`${user}\0${definition}`));
    }
    this.#members.set(definition, user, value);
  }

  /** Completes a restoration. */
  restored(meta: PartitionState, checkpoint: Checkpoint): void {
    this.sent(meta);
    this.setCheckpoint(checkpoint);
    this.#members.forgetCounts();
  }

  async close(): Promise<void> {
    await this.#env.close();
  }

  #about(name: string): JsonObject | undefined {
    const value = this.#tables.about.get(Buffer.from(name));
    return value && (JSON.parse(value.toString()) as JsonObject);
  }

  #putMeta(meta: PartitionState): void {
    this.#tables.about.putSync(Buffer.from('meta'), Buffer.from(JSON.stringify(meta)));
  }

  #put(user: string, profile: Profile | null, due: number | undefined): void {
    const key = Buffer.from(user);
    // A profile without a present user is not a member of any definition.
    if (!profile || profile.g) {
      const values = this.get(user)?.s ?? {};
      for (const definition of Object.keys(values)) this.#members.set(definition, user, null);
    }
    this.#setFull(key, profile?.f === 1);
    this.#moveDue(key, this.#tables.profiles.getBinaryFast(key), due);
    if (profile) {
      this.#tables.profiles.putSync(
        key,
        Buffer.concat([numberKey(due ?? 0), encodeProfile(profile)]),
      );
    } else this.#tables.profiles.removeSync(key);
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

  #setDue(user: string, due: number | undefined): void {
    const key = Buffer.from(user);
    const value = this.#tables.profiles.get(key);
    if (!value || !this.#moveDue(key, value, due)) return;
    this.#tables.profiles.putSync(
      key,
      Buffer.concat([numberKey(due ?? 0), value.subarray(NUMBER_BYTES)]),
    );
  }

  /** @returns whether the due time changed */
  #moveDue(user: Buffer, value: Buffer | undefined, due: number | undefined): boolean {
    const before = value ? Number(value.readBigUInt64BE()) : 0;
    if (before === (due ?? 0)) return false;
    if (before > 0) this.#tables.due.removeSync(Buffer.concat([numberKey(before), user]));
    if (due !== undefined) this.#tables.due.putSync(Buffer.concat([numberKey(due), user]), NOTHING);
    return true;
  }
}
