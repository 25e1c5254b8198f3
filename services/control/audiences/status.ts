import { type Audience } from '../../../shared/model/audience-definition';
import { type StatusValue } from '../../../shared/model/profile-records';
import { type Kafka, type Tail } from '../../../shared/kafka/port';
import { PROFILE_STATUS } from '../../../shared/kafka/topics';
import { sumOf } from './preview-progress';

/**
 * Reads the status of audiences and computed traits, which the audiences service reports for each
 * partition.
 */

export type Counted = Pick<Audience, 'revision' | 'upload'>;

export interface DefinitionStatus {
  /** none: no partition has reported */
  phase: 'none' | 'counting' | 'first_sync' | 'live';
  partitions: number;
  /** members now, as sent to receivers; for a computed trait, users with a value */
  members: number;
  /** profiles that the first sync has evaluated, and their total */
  counted: number;
  of: number;
  /** users whose profiles are full: some of their events do not count */
  full: number;
  /** calls sent so far, and calls that Kafka has not acknowledged */
  sent: number;
  waiting: number;
  /** the last upload that all partitions have applied */
  upload: number;
  lastSync: { at: string; looked: number; changed: number } | null;
}

/** Longest wait for the first read. Later reports are read as well. */
const CATCH_UP_MS = 60_000;

export class ProfileStatus {
  readonly #said = new Map<string, Map<number, StatusValue>>();
  #tail: Tail | undefined;
  /** all reports from before the start have been read */
  caughtUp = false;

  /** @param onStatus called with each report, after it is part of the status */
  constructor(private readonly onStatus: (value: StatusValue) => void = () => undefined) {}

  async open(kafka: Pick<Kafka, 'tail'>, onFatal: (error: unknown) => void): Promise<void> {
    this.#tail = await kafka.tail({
      name: 'control-profile-status',
      topic: PROFILE_STATUS,
      from: 'beginning',
      batchMs: 100,
      onFatal,
      onRecord: ({ key, value }) => {
        if (value) this.#take(value.toString());
        else this.#forget(key?.toString() ?? '');
      },
    });
    const read = () => void (this.caughtUp = true);
    this.#tail.caughtUp(CATCH_UP_MS).then(read, read);
  }

  async stop(): Promise<void> {
    await this.#tail?.stop();
  }

  membersOf(definition: string): ReadonlyMap<number, number> {
    return new Map(
      Array.from(this.#said.get(definition) ?? [], ([partition, { members }]) => [
        partition,
        members,
      ]),
    );
  }

  /**
   * Returns the number of users whose profiles are full; undefined until all reports were read.
   * Each report counts all users of its partition.
   * @param exists returns whether a definition still exists
   */
  full(exists: (definition: string) => boolean): number | undefined {
    if (!this.caughtUp) return undefined;
    const newest = new Map<number, StatusValue>();
    for (const [definition, reports] of this.#said) {
      if (!exists(definition)) continue;
      for (const [partition, report] of reports) {
        if (report.at >= (newest.get(partition)?.at ?? '')) newest.set(partition, report);
      }
    }
    return sumOf([...newest.values()], ({ full }) => full);
  }

  /**
   * Reports of earlier revisions are left out, and an audience is not live before its last upload
   * is applied.
   */
  of(definition: string, { revision, upload }: Counted): DefinitionStatus {
    const said = [...(this.#said.get(definition)?.values() ?? [])].filter(
      (each) => each.revision === revision,
    );
    const all = said.length > 0 && said.length >= (said[0]?.partitions ?? 0);
    const applied = all ? Math.min(...said.map((each) => each.upload)) : 0;
    const sum = (read: (each: StatusValue) => number) => sumOf(said, read);
    const syncs = said.flatMap(({ lastSync }) => lastSync ?? []);
    const last = syncs.map(({ at }) => at).sort();
    return {
      phase: phaseOf(said, all && applied >= (upload?.number ?? 0)),
      partitions: said.length,
      members: sum(({ members }) => members),
      counted: sum(({ counted }) => counted),
      of: sum(({ profiles }) => profiles),
      full: sum(({ full }) => full),
      sent: sum(({ told, waiting }) => Math.max(0, told - waiting)),
      waiting: sum(({ waiting }) => waiting),
      upload: applied,
      lastSync:
        last.length === 0
          ? null
          : {
              at: last.at(-1) ?? '',
              looked: sumOf(syncs, ({ looked }) => looked),
              changed: sumOf(syncs, ({ told }) => told),
            },
    };
  }

  #take(value: string): void {
    const said = read(value);
    if (!said) return;
    const partitions = this.#said.get(said.definition) ?? new Map<number, StatusValue>();
    // A process that was frozen does not know of its successor yet.
    if (said.term < (partitions.get(said.partition)?.term ?? 0)) return;
    this.#said.set(said.definition, partitions.set(said.partition, said));
    this.onStatus(said);
  }

  /** The status of a deleted definition ends with a record without a value. */
  #forget(key: string): void {
    const [definition = '', partition] = key.split('/');
    const partitions = this.#said.get(definition);
    partitions?.delete(Number(partition));
    if (partitions?.size === 0) this.#said.delete(definition);
  }
}

function phaseOf(said: readonly StatusValue[], isWhole: boolean): DefinitionStatus['phase'] {
  if (said.length === 0) return 'none';
  if (isWhole && said.every(({ phase }) => phase === 'live')) return 'live';
  return said.some(({ phase }) => phase === 'scanning' || phase === 'live')
    ? 'first_sync'
    : 'counting';
}

/**
 * Waypost alone writes this topic, so an unreadable value comes from a newer version, and is
 * skipped.
 */
function read(text: string): StatusValue | undefined {
  try {
    return JSON.parse(text) as StatusValue;
  } catch {
    return undefined;
  }
}
