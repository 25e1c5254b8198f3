import { uuidv7 } from 'uuidv7';
import { type ConfigReader } from '../../shared/config/types';
import { type BatchProducer } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { createApp } from './routes';
import { type ClientAddress, createClientAddress } from '../../shared/runtime/client-address';
import { createSources } from './write-key';
import { createBodyReader } from './read-body';
import { type Budgets, Admission } from './admission';
import { createRequestHandler } from './handle-request';
import { LargeBodies } from './large-bodies';
import { type LimitSettings } from './rate-limits';
import { type IngestServer, startServer } from './server';
import { createStore } from './store-messages';
import { UnrecordedCounts } from './unrecorded-counts';

/** Assembles ingest from its parts, between `config` and the producer. */

/** The response must be sent within 5 s; the rest is for the way to the client. */
export const RESPONSE_DEADLINE_MS = 4_500;

/**
 * Returns the options of ingest's producer. @param maxPendingBytes the limit beyond which calls are
 * answered with 503
 */
export function producerOptions({ pendingBytes: maxPendingBytes }: Pick<Budgets, 'pendingBytes'>) {
  return {
    maxPendingBytes,
    /**
     * Before the deadline of the response, so that calls answered with 503 are not stored long
     * after it.
     */
    deliveryTimeoutMs: 4_000,
    /**
     * The second of two calls within this time waits for its end; otherwise each single call costs
     * Kafka a request.
     */
    lingerMs: 8,
    lingerRequests: 6,
    /**
     * A batch of many users touches nearly all partitions, so one blocked partition would refuse
     * nearly every batch.
     */
    spillToOtherPartitions: true,
  };
}

export interface IngestOptions {
  config: ConfigReader;
  producer: BatchProducer;
  log: Log;
  host: string;
  port: number;
  limits: LimitSettings;
  budgets: Budgets;
  /** default: the socket's peer */
  clientAddress?: ClientAddress;
  /** whether this process may get traffic; default: always */
  isReady?: () => boolean;
  /** time for which a connection without a request stays open, ms */
  keepAliveMs: number;
  /** ms since 1970; default: the machine's clock */
  now?: () => number;
  /** default RESPONSE_DEADLINE_MS */
  responseDeadlineMs?: number;
  /** default: by the event loop of this process */
  largeBodies?: LargeBodies;
}

/** Starts the HTTP server. @throws AppError `cannot_start` if the port is not available */
export async function startIngest(options: IngestOptions): Promise<IngestServer> {
  const { config, producer, log, limits, budgets } = options;
  const { responseDeadlineMs = RESPONSE_DEADLINE_MS } = options;
  const { now = Date.now, largeBodies = new LargeBodies() } = options;
  const sources = createSources({ config, log, now });
  const counts = new UnrecordedCounts(producer, log);
  const clientAddress = options.clientAddress ?? createClientAddress([]);
  const admission = new Admission({ budgets, limits, clientAddress, counts, log, now });
  const store = createStore({ producer, counts, log, responseDeadlineMs });
  const intake = createRequestHandler({
    config,
    sources,
    readBody: createBodyReader(),
    admission,
    largeBodies,
    store,
    now,
    makeId: uuidv7,
  });
  const { host, port, isReady = () => true, keepAliveMs } = options;
  const app = createApp({ intake, sources, admission, isReady, log });
  const server = await startServer(app, {
    host,
    port,
    maxConnections: budgets.connections,
    keepAliveMs,
  });
  return {
    port: server.port,
    stop: async (deadlineMs) => {
      await server.stop(deadlineMs);
      await counts.stop();
    },
  };
}
