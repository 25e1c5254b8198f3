import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker, type BenchBroker } from './broker';
import { Endpoint } from './endpoint';

/** The resources that all benchmarks of a run share: a folder, a broker, a receiver. */
export interface Bench {
  dir: string;
  broker: BenchBroker;
  endpoint: Endpoint;
  profileDir: string | undefined;
  /** Returns a topic prefix that no earlier benchmark of the run had. */
  newPrefix(name: string): string;
  stop(): Promise<void>;
}

/** @param note receives the name of each slow step */
export async function setUp(profileDir: string | undefined, note: (text: string) => void): Promise<Bench> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-bench-'));
  let broker: BenchBroker;
  try {
    broker = await startBroker(dir, note);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
  const endpoint = await Endpoint.start();
  let systems = 0;
  return {
    dir,
    broker,
    endpoint,
    profileDir,
    newPrefix: (name) => `${name}-${String(++systems)}.`,
    stop: async () => {
      endpoint.stop();
      await broker.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
