import { connect, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { readProcessLimits } from '../../../shared/runtime/process-limits';
import { createLog } from '../../../shared/telemetry/log';
import { budgetsOf, resourcesOf } from '../../../services/ingest/admission';
import { type IngestOptions, startIngest } from '../../../services/ingest/assemble';
import {
  aSource,
  type FakeConfig,
  fakeConfig,
  recordingProducer,
  type RecordingProducer,
} from '../../support/fakes';
import { aWriteKey } from '../../support/write-key';

/**
 * Starts ingest on a free port, between fakes: `key-1` opens `src_1`, `key-off` a source that is
 * off.
 */
export interface TestIngest {
  port: number;
  url: string;
  producer: RecordingProducer;
  config: FakeConfig;
  post(
    path: string,
    body: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: unknown; headers: Headers }>;
  stop(deadlineMs?: number): Promise<void>;
}

/** Limits that no test reaches unless it sets its own. */
const LIMITS = { maxPerSecond: 1_000_000, processes: 1 };

export async function startTestIngest(options: Partial<IngestOptions> = {}): Promise<TestIngest> {
  const producer = recordingProducer();
  const config = fakeConfig(
    aSource(),
    aSource({ id: 'src_off', enabled: false, writeKeys: [aWriteKey('key-off')] }),
    aSource({ id: 'src_rotated', writeKeys: [aWriteKey('key-new'), aWriteKey('key-old', 1)] }),
  );
  const log = createLog('test', 'silent');
  const server = await startIngest({
    config,
    producer,
    log,
    host: '127.0.0.1',
    port: 0,
    limits: LIMITS,
    budgets: budgetsOf(resourcesOf(readProcessLimits())),
    keepAliveMs: 75_000,
    ...options,
  });
  const url = `http://127.0.0.1:${server.port}`;
  return {
    port: server.port,
    url,
    producer,
    config,
    // Half of the deadline is for a last request on connections that stay open: here none comes.
    stop: (deadlineMs = 20) => server.stop(deadlineMs),
    async post(path, body, headers = {}) {
      const raw = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
      const answer = await fetch(url + path, {
        method: 'POST',
        body: raw,
        headers: { ...basic('key-1'), ...headers },
      });
      return { status: answer.status, body: await answer.json(), headers: answer.headers };
    },
  };
}

export function basic(user: string): Record<string, string> {
  return { authorization: `Basic ${Buffer.from(`${user}:`).toString('base64')}` };
}

export const gzipped = (value: unknown) =>
  gzipSync(typeof value === 'string' ? value : JSON.stringify(value));

/** A connection on which anything can be written; `closed` resolves to all that came back. */
export function rawSocket(port: number): {
  socket: Socket;
  closed: Promise<string>;
  received: () => string;
} {
  const socket = connect(port, '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => (text += chunk));
  const closed = new Promise<string>((resolve) => {
    // The server may reset the connection after its answer; only the received bytes count.
    socket.on('error', () => undefined).on('close', () => resolve(text));
  });
  return { socket, closed, received: () => text };
}
