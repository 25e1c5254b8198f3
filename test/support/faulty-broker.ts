import { type LogBrokers } from '../../shared/kafka/consumer/brokers';
import { FetchedRecord } from '../../shared/kafka/protocol/batch';
import {
  type FetchAnswer,
  type FetchedPartition,
  type FetchInput,
} from '../../shared/kafka/protocol/fetch-request';
import { EARLIEST } from '../../shared/kafka/protocol/offset-requests';

/**
 * Fake brokers that are throttled, behind or silent: broker 1 leads partition 0, broker 2 leads
 * partition 1, and so on. A broker answers a fetch after 10 ms, without waiting for records.
 */

/** What a broker makes of a fetch, in place of what its log holds. */
export type Fault = Error | { throttledMs: number } | 'nothing' | Partial<FetchedPartition>;

export interface FaultyBroker {
  /** for the next fetches; the last one repeats; undefined: its log */
  faults: (Fault | undefined)[];
  /** the offset behind the last record of its log */
  end: number;
  /** the end that it reports to look-ups; an error: it does not answer */
  looksUp: () => Promise<number>;
  /** most records in an answer */
  most: number;
  /** false: it leads no partition */
  leads: boolean;
  /** offsets of the fetches so far */
  asked: number[];
  /** waits of the fetches so far, ms */
  waits: number[];
}

const APPENDED_MS = 1_700_000_000_000;

export function faultyBroker(end: number, ...faults: (Fault | undefined)[]): FaultyBroker {
  const broker: FaultyBroker = {
    faults,
    end,
    looksUp: () => Promise.resolve(broker.end),
    most: 1_000,
    leads: true,
    asked: [],
    waits: [],
  };
  return broker;
}

/** Returns the brokers as a reader of the topic reaches them. */
export function logsOf(topic: string, brokers: readonly FaultyBroker[]): LogBrokers {
  const of = (node: number) => brokers[node - 1]!;
  return {
    metadata: () => {
      const partitions = brokers.map(({ leads }, i) => ({ leader: leads ? i + 1 : -1, epoch: 0 }));
      return Promise.resolve(new Map([[topic, { errorCode: 0, id: 'a', partitions }]]));
    },
    openFetches: (node) => {
      let isOpen = true;
      return Promise.resolve({
        get isOpen() {
          return isOpen;
        },
        fetch: (input, done) => {
          setTimeout(() => {
            const answer = answerOf(of(node), node - 1, input);
            if (answer instanceof Error) isOpen = false;
            if (answer instanceof Error) done(answer, undefined);
            else done(undefined, answer);
          }, 10);
        },
        close: () => (isOpen = false),
      });
    },
    listOffsets: async (node, places, atMs) => {
      const offset = atMs === EARLIEST ? 0 : await of(node).looksUp();
      return places.map((place) => {
        return { ...place, errorCode: 0, offset };
      });
    },
    epochEnd: (node, place) => Promise.resolve({ ...place, errorCode: 0, offset: of(node).end }),
    disconnect: () => Promise.resolve(),
  };
}

function answerOf(broker: FaultyBroker, number: number, input: FetchInput): FetchAnswer | Error {
  const { faults, end, most } = broker;
  const [topic] = input.topics;
  const { offset } = topic!.partitions.find(({ partition }) => partition === number)!;
  broker.asked.push(offset);
  broker.waits.push(input.maxWaitMs);
  const fault = faults.length > 1 ? faults.shift() : faults[0];
  if (fault instanceof Error) return fault;
  const answer = { throttleMs: 0, errorCode: 0, sessionId: 0, partitions: [] };
  if (fault === 'nothing') return answer;
  if (fault && 'throttledMs' in fault) return { ...answer, throttleMs: fault.throttledMs };
  const records: FetchedRecord[] = [];
  for (let at = offset; at < Math.min(end, offset + most); at++) {
    const batch = { buffer: Buffer.alloc(0), isHidden: false, epoch: 0 };
    records.push(new FetchedRecord(batch, 0, at, APPENDED_MS + at));
  }
  const partition: FetchedPartition = {
    topic: topic!.topic,
    partition: number,
    errorCode: 0,
    highWatermark: end,
    replica: -1,
    records,
    next: records.length > 0 ? offset + records.length : undefined,
    ...fault,
  };
  return { ...answer, partitions: [partition] };
}
