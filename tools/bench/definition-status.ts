import { type StatusValue } from '../../shared/model/profile-records';
import { type Kafka, type Tail } from '../../shared/kafka/port';
import { PROFILE_STATUS } from '../../shared/kafka/topics';
import { sum } from './arithmetic';

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
    for (const { partition, counted } of this.#said.values())
      least.set(partition, Math.min(counted, least.get(partition) ?? Infinity));
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
