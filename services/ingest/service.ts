import { uuidv7 } from 'uuidv7';
import { type ConfigReader } from '../../shared/config/view';
import { type Appender } from '../../shared/kafka/port';
import { type Log } from '../../shared/telemetry/log';
import { createApp } from './app';
import { createFindSource } from './auth';
import { createBodyReader } from './body';
import { createIntake } from './intake';
import { type IngestServer, startServer } from './server';

/** The parts of ingest put together, between what it reads (config) and what it writes to (the appender). */

/** The answer must be out within 5 s; the rest is for the way there. */
export const ANSWER_DEADLINE_MS = 4_500;

/** What ingest asks of its appender. */
export const APPENDER_OPTIONS = {
  /** Four seconds of 25,000 calls of 1 KB. More would be answered too late anyway. */
  maxPendingBytes: 96 * 1024 * 1024,
  /** Before the answer's deadline, so that what was refused is not written long after. */
  giveUpAfterMs: 4_000,
  /** Of two calls within it, the second waits for it to end: single calls else cost Kafka a request each. */
  gatherMs: 8,
};

export interface IngestOptions {
  config: ConfigReader;
  appender: Appender;
  log: Log;
  host: string;
  port: number;
  /** default ANSWER_DEADLINE_MS */
  answerDeadlineMs?: number;
}

/** Starts to listen. @throws AppError `cannot_start` where the port cannot be had */
export function startIngest(options: IngestOptions): Promise<IngestServer> {
  const { config, appender, log } = options;
  const findSource = createFindSource({ config, log, now: Date.now });
  const intake = createIntake({
    findSource,
    appender,
    log,
    now: Date.now,
    makeId: uuidv7,
    answerDeadlineMs: options.answerDeadlineMs ?? ANSWER_DEADLINE_MS,
  });
  const app = createApp({ intake, findSource, readBody: createBodyReader(), log });
  return startServer(app, options.port, options.host);
}
