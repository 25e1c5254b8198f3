import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Kafka, type Tail } from '../../../shared/kafka/port';
import { PROFILE_STATUS } from '../../../shared/kafka/topics';
import { type StatusValue } from '../../../shared/model/profile-records';
import { sum } from '../arithmetic';

/**
 * Observes the audiences service from outside: the status of definitions, its metrics, and its
 * files.
 */

/** Reads the status of all definitions from the topic `profiles.status`, as control does. */
export class DefinitionStatus {
  readonly #said = new Map<string, StatusValue>();
  #tail: Tail | undefined;

  private constructor(private readonly expected: number) {}

  /** @param expected number of reports once every partition has reported each definition */
  static async watch(kafka: Kafka, expected: number): Promise<DefinitionStatus> {
    const status = new DefinitionStatus(expected);
    status.#tail = await kafka.tail({
      name: 'bench-status',
      topic: PROFILE_STATUS,
      from: 'beginning',
      onRecord: ({ value }) => {
        if (value) status.#note(JSON.parse(value.toString()) as StatusValue);
      },
      // Then the status stops changing, and the deadline reports that.
      onFatal: () => undefined,
    });
    return status;
  }

  async stop(): Promise<void> {
    await this.#tail?.stop();
  }

  /** Returns whether the first syncs are done. */
  get live(): boolean {
    const all = [...this.#said.values()];
    return all.length === this.expected && all.every(({ phase }) => phase === 'live');
  }

  /** Number of users that the first syncs have checked. */
  get counted(): number {
    const least = new Map<number, number>();
    for (const { partition, counted } of this.#said.values()) {
      least.set(partition, Math.min(counted, least.get(partition) ?? Infinity));
    }
    return sum([...least.values()]);
  }

  /** Number of calls emitted in total. */
  get told(): number {
    return sum([...this.#said.values()].map(({ told }) => told));
  }

  #note(value: StatusValue): void {
    this.#said.set(`${value.definition}/${String(value.partition)}`, value);
  }
}

/** Returns the sum of a metric of a service; 0 if it does not respond yet. */
export async function metricOf(port: number, name: string): Promise<number> {
  const text = await fetch(`http://127.0.0.1:${String(port)}/metrics`).then(
    (answer) => answer.text(),
    () => '',
  );
  const values = [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))];
  return values.reduce((sum, [, value]) => sum + Number(value), 0);
}

const BLOCK_BYTES = 512;

/**
 * Returns the bytes allocated below a folder: a file may be longer than its written part. Files
 * that disappear during the walk count as 0.
 */
export function diskBytes(dir: string): number {
  let bytes = 0;
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    bytes += entry.isDirectory()
      ? diskBytes(path)
      : (lstatSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * BLOCK_BYTES;
  }
  return bytes;
}
