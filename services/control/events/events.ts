import { type InRecord, type Kafka, type Tail } from '../../../shared/kafka/port';
import { MESSAGES, REJECTED } from '../../../shared/kafka/topics';
import { type ConfigReader } from '../../../shared/config/view';
import { showEvent } from './explain';
import { type SeenEvents } from './seen';
import { EventRing } from './ring';
import { Streams } from './streams';

/** The debugger: follows what ingest accepted and rejected, keeps the last of it, and passes it on live. */

/** So that a control that has just started is not blind: the last of the last hour. */
const LOOK_BACK_MS = 3_600_000;
const LOOK_BACK_RECORDS = 2_000;

export interface Events {
  readonly ring: EventRing;
  readonly streams: Streams;
  /** Ends the streams: whoever waits for connections to end calls it first. */
  stop(): Promise<void>;
}

export interface EventsOptions {
  kafka: Pick<Kafka, 'tail'>;
  config: Pick<ConfigReader, 'source' | 'destinationsOf' | 'onChange'>;
  seen: Pick<SeenEvents, 'add'>;
  now: () => number;
  onFatal: (error: unknown) => void;
}

export async function openEvents({ kafka, config, seen, now, onFatal }: EventsOptions): Promise<Events> {
  const ring = new EventRing();
  const streams = new Streams(now, (entry) => showEvent(entry, config));
  config.onChange(({ kind }) => {
    if (kind === 'token') streams.recheck();
  });
  const follow = (topic: string, accepted: boolean): Promise<Tail> => {
    const from = { sinceMs: now() - LOOK_BACK_MS, atMost: LOOK_BACK_RECORDS };
    const onRecord = (record: InRecord) => {
      if (accepted) seen.add(record);
      streams.publish(ring.add(record, accepted));
    };
    return kafka.tail({ name: `control-${topic}`, topic, from, patient: true, onRecord, onFatal });
  };
  const tails = await Promise.all([follow(MESSAGES, true), follow(REJECTED, false)]);
  return {
    ring,
    streams,
    stop: async () => {
      streams.stop();
      await Promise.all(tails.map((tail) => tail.stop()));
    },
  };
}
