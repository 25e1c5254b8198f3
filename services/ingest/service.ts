import { uuidv7 } from 'uuidv7';
import { type ConfigReader } from '../../shared/config/types';
import { type BatchProducer } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { createApp } from './routes';
import { type ClientAddress, createClientAddress } from '../../shared/service/client-address';
import { createSources } from './write-key';
import { createBodyReader } from './read-body';
import { type Budgets, budgetsOf, memoryOfProcess } from './memory-budgets';
import { Admission } from './admission';
import { createRequestHandler } from './handle-request';
import { LimitedCounts } from './limited-counts';
import { type LimitSettings } from './rate-limits';
import { type IngestServer, startServer } from './server';
import { createStore } from './store-messages';

/** The parts of ingest put together, between what it reads (config) and what it writes to (the appender). */

/** The answer must be out within 5 s; the rest is for the way there. */
export const ANSWER_DEADLINE_MS = 4_500;

/** What ingest asks of its appender. @param maxPendingBytes beyond it calls are answered 503 */
export function producerOptions({ pendingBytes: maxPendingBytes }: Pick<Budgets, 'pendingBytes'>) {
  return {
    maxPendingBytes,
    /** Before the answer's deadline, so that what was refused is not written long after. */
    deliveryTimeoutMs: 4_000,
    /** Of two calls within it, the second waits for it to end: single calls else cost Kafka a request each. */
    lingerMs: 8,
    /** A batch of many users touches nearly all partitions: one that is blocked would refuse nearly every batch. */
    divert: true,
  };
}

export interface IngestOptions {
  config: ConfigReader;
  producer: BatchProducer;
  log: Log;
  host: string;
  port: number;
  limits: LimitSettings;
  /** default: from the memory of this process */
  budgets?: Budgets;
  /** default: the socket's peer */
  clientAddress?: ClientAddress;
  /** default ANSWER_DEADLINE_MS */
  answerDeadlineMs?: number;
}

/** Starts to listen. @throws AppError `cannot_start` where the port cannot be had */
export async function startIngest(options: IngestOptions): Promise<IngestServer> {
  const { config, producer, log, limits } = options;
  const { budgets = budgetsOf(memoryOfProcess()), answerDeadlineMs = ANSWER_DEADLINE_MS } = options;
  const now = Date.now;
  const sources = createSources({ config, log, now });
  const counts = new LimitedCounts(producer, log);
  const clientAddress = options.clientAddress ?? createClientAddress([]);
  const gate = new Admission({ budgets, limits, clientAddress, counts, log, now });
  const store = createStore({ producer, log, now, answerDeadlineMs });
  const intake = createRequestHandler({ sources, readBody: createBodyReader(), gate, store, now, makeId: uuidv7 });
  const app = createApp({ intake, sources, gate, log });
  const { host, port } = options;
  const server = await startServer(app, { host, port, maxConnections: budgets.connections });
  return {
    port: server.port,
    stop: async (deadlineMs) => {
      await server.stop(deadlineMs);
      await counts.stop();
    },
  };
}
