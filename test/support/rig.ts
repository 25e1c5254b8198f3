import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServiceName } from '../../deploy/local/paths';
import { aCall, type Call } from './make';
import { eventually } from './eventually';
import { type Load, startLoad } from './load';
import { type ReceivedRequest, type Sink, startSink } from './sink';
import { startSystem, type System, type SystemOptions } from './system';

/**
 * A system under load, for breaking it: one source, and three destinations: one is well, one fails sometimes, and one, for
 * a tenth of the calls, never answers.
 */
export interface Rig {
  /** the system as it runs now */
  system: System;
  sink: Sink;
  load: Load;
  /** Starts the system again on its data dir and its ports, after it has ended. */
  restart(): Promise<void>;
  /** Waits until load has been flowing again: so many more calls arrived at the healthy endpoint. */
  flowing(calls?: number): Promise<void>;
  /** The service as a new process, ready; `before` are the pids that were killed. */
  replaced(name: ServiceName, before: number[]): Promise<void>;
  /** Stops the load and waits until each acknowledged call has been taken, by the healthy and by the failing endpoint. */
  allArrived(): Promise<void>;
  /** How often the healthy endpoint got something again, so far. */
  repeats(): number;
  close(): Promise<void>;
}

export const PER_SECOND = 300;
export const HEALTHY = '/healthy';
export const FAILING = '/failing';
export const HANGING = '/hanging';
const RECOVERY_MS = 60_000;

export async function openRig(options: SystemOptions = {}): Promise<Rig> {
  const dataDir = mkdtempSync(join(tmpdir(), 'waypost-crash-'));
  const sink = await startSink();
  let tries = 0;
  sink.on(HANGING, { misbehave: 'hang' }).on(FAILING, () => (tries++ % 10 === 0 ? { status: 503 } : {}));
  // The receiver shares two cores with all the rest: a second of silence from it says nothing.
  const env = { WAYPOST_RETRY_DELAYS: '500ms,2s,10s', WAYPOST_TIMEOUT: '2s', WAYPOST_LOG_LEVEL: 'warn', ...options.env };
  const system = await startSystem({ ...options, env, dataDir });
  const source = await system.createSource();
  for (const path of [HEALTHY, FAILING, HANGING]) {
    const types = path === HANGING ? { types: ['identify'] } : {};
    await system.createDestination({ sources: [source.id], webhooks: [{ url: sink.url(path) }], ...types });
  }
  // What is acknowledged before the router knows a destination is not for it.
  await eventually(async () => {
    await system.send(source.writeKey, 'identify', aCall('identify'));
    await sink.waitFor(1, { path: HANGING, timeoutMs: 250 });
  });
  const load = startLoad({ url: system.ingestUrl, writeKey: source.writeKey, perSecond: PER_SECOND });
  const rig: Rig = {
    system,
    sink,
    load,
    restart: async () => {
      rig.system = await startSystem({ ...options, env: system.env, dataDir, prefix: system.prefix });
    },
    flowing: async (calls = PER_SECOND) => {
      const from = sink.received(HEALTHY).length;
      await sink.waitFor(from + calls, { path: HEALTHY, timeoutMs: RECOVERY_MS });
    },
    replaced: (name, before) =>
      eventually(
        async () => {
          const now = rig.system.pids(name);
          if (now.length !== 1 || before.includes(now[0]!)) throw new Error(`${name} runs as ${now.join()}`);
          const port = system.env[`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]!;
          const answer = await fetch(`http://127.0.0.1:${port}/readyz`);
          if (!answer.ok) throw new Error(`${name} is not ready: ${await answer.text()}`);
        },
        { deadlineMs: RECOVERY_MS },
      ),
    allArrived: async () => {
      await load.stop();
      for (const path of [HEALTHY, FAILING]) await eventually(() => noneMissing(rig, path), { deadlineMs: RECOVERY_MS, everyMs: 200 });
    },
    repeats: () => sink.deliveries(HEALTHY).repeats,
    close: async () => {
      await load.stop(0);
      await rig.system.stop();
      await sink.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
  return rig;
}

function noneMissing({ load, sink }: Rig, path: string): void {
  const arrived = new Set(sink.received(path).map(messageIdOf));
  const missing = [...load.acknowledged].filter((id) => !arrived.has(id));
  if (missing.length > 0) {
    throw new Error(`${missing.length} of ${load.acknowledged.size} acknowledged calls have not arrived at ${path}: ${missing.slice(0, 3).join(', ')}`);
  }
}

function messageIdOf({ body }: ReceivedRequest): string {
  return (JSON.parse(body.toString()) as Call).messageId;
}
