import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SERVICES } from '../../bin/service-list';
import {
  ALERTS_FILE,
  answerable,
  queriesOf,
  readDashboards,
  readRules,
} from '../../test/support/promql';
import { eventually } from '../../test/support/eventually';
import { freePort } from '../../test/support/free-port';
import { startLoad } from '../harness/load';
import { startProgram, type Program } from '../../test/support/child-program';
import { startSystem, type System } from '../harness/system';
import { embeddedBroker } from './broker-control';
import { callMaker } from './scenario';
import { openEndpoints } from './endpoints';
import { randomOf } from '../harness/random';
import { connect } from './run';
import { runMain } from '../harness/run-main';

/**
 * `node dist/tools/chaos/queries.js`: a real Prometheus scrapes a system under load, with
 * misbehaving endpoints and a Kafka that freezes for a while, and runs every query of the alerts
 * and dashboards of deploy/. Each must return data.
 */

const PER_SECOND = 100;
/** Prometheus creates its files first, and the machine may be busy. */
const READY_MS = 240_000;
const SCRAPE = '1s';
/** Replaces Grafana's interval: long enough for everything that happens here. */
const INTERVAL = '3m';
const CALM_MS = 20_000;
/** Ingest gives up a call after 5 s, so some are not stored. */
const FROZEN_MS = 9_000;
const AFTER_MS = 25_000;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
  const undo: (() => unknown)[] = [];
  try {
    const dir = mkdtempSync(join(tmpdir(), 'waypost-queries-'));
    undo.push(() => rmSync(dir, { recursive: true, force: true }));
    const endpoints = await openEndpoints(randomOf(1));
    undo.push(() => endpoints.close());
    const env = {
      WAYPOST_RETRY_DELAYS: '1s,3s',
      WAYPOST_RETRY_WINDOW: '30s',
      WAYPOST_TIMEOUT: '3s',
    };
    const system = await startSystem({
      embedded: true,
      dataDir: join(dir, 'data'),
      env,
      deadlineMs: READY_MS,
    });
    undo.push(() => system.stop());
    const prometheus = await startPrometheus(dir, system);
    undo.push(() => prometheus.program.stop());
    const { writeKey, destinations } = await connect(system, endpoints);
    const make = callMaker(randomOf(2));
    const load = startLoad({ url: system.ingestUrl, writeKey, perSecond: PER_SECOND, make });
    undo.push(() => load.stop(0));
    say(`${PER_SECOND} calls a second`);
    await pause(CALM_MS);
    await trouble(system, writeKey, destinations.leaving);
    await pause(AFTER_MS);
    return await judge(prometheus.url);
  } finally {
    for (const step of undo.reverse()) await step();
  }
}

/**
 * Causes what a healthy system never shows: calls that are refused, duplicated or without a
 * destination, a disabled destination, and an unavailable Kafka.
 */
async function trouble(system: System, writeKey: string, leaving: string): Promise<void> {
  await system.send(writeKey, 'track', { event: 'Nobody' });
  await system.send(writeKey, 'track', {
    event: 'Excluded',
    userId: 'u',
    integrations: { All: false },
  });
  const doubled = { event: 'Twice', userId: 'u', messageId: 'twice' };
  for (let i = 0; i < 2; i++) await system.send(writeKey, 'track', doubled);
  await system.control('PATCH', `/destinations/${leaving}`, { enabled: false });
  say('Kafka stands still');
  await embeddedBroker(system).freeze({ leads: 'controllers' }, FROZEN_MS);
  say('Kafka goes on');
}

async function startPrometheus(
  dir: string,
  { env }: System,
): Promise<{ url: string; program: Program }> {
  const targets = SERVICES.map(
    (name) => `127.0.0.1:${env[`WAYPOST_${name.toUpperCase()}_HEALTH_PORT`]!}`,
  );
  const config = {
    global: { scrape_interval: SCRAPE, evaluation_interval: SCRAPE },
    rule_files: [ALERTS_FILE],
    scrape_configs: [{ job_name: 'waypost', static_configs: [{ targets }] }],
  };
  // JSON is valid YAML.
  writeFileSync(join(dir, 'prometheus.json'), JSON.stringify(config));
  const address = `127.0.0.1:${String(await freePort())}`;
  const flags = {
    'config.file': 'prometheus.json',
    'storage.tsdb.path': 'tsdb',
    'web.listen-address': address,
  };
  const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
  const program = startProgram('prometheus', args, { cwd: dir });
  await eventually(async () => {
    const ended = program.child.exitCode !== null || program.child.pid === undefined;
    if (ended) {
      throw new Error(`prometheus does not run (apt-get install prometheus): ${program.output()}`);
    }
    const { ok } = await fetch(`http://${address}/-/ready`);
    if (!ok) throw new Error(program.output());
  });
  return { url: `http://${address}`, program };
}

interface Found {
  metric: Record<string, string>;
  value: [number, string];
}

async function judge(url: string): Promise<boolean> {
  let silent = 0;
  const queries = queriesOf(readRules(), readDashboards());
  for (const [who, expr] of queries) {
    const query = answerable(expr, INTERVAL);
    const response = await fetch(
      `${url}/api/v1/query?${new URLSearchParams({ query }).toString()}`,
    );
    const { data, error } = (await response.json()) as {
      data?: { result: Found[] };
      error?: string;
    };
    const values = (data?.result ?? [])
      .map(({ value }) => value[1])
      .filter((value) => value !== 'NaN');
    if (values.length === 0) silent++;
    const shown = values.length === 0 ? `NOTHING ${error ?? ''}` : values.slice(0, 4).join(' ');
    say(`${who}: ${shown}${values.length === 0 ? `\n    ${query.replaceAll(/\s+/g, ' ')}` : ''}`);
  }
  say(`${queries.length - silent} of ${queries.length} queries have an answer`);
  return silent === 0;
}

runMain(main);
