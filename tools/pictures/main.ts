import { randomBytes } from 'node:crypto';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { kafkaAddress } from '../../shared/kafka/client/connection';
import { defined } from '../../shared/collections/defined';
import { messageOf } from '../../shared/runtime/errors';
import { loadSettings } from '../../shared/runtime/settings';
import { makeCertificate } from '../../test/support/certificate';
import { eventually } from '../../test/support/eventually';
import { startNameServer } from '../../test/support/name-server';
import { KafkaView } from '../chaos/kafka-view';
import { apiOf, type Destination } from '../harness/api';
import { runMain } from '../harness/run-main';
import { startSink } from '../harness/sink';
import { removeData, startSystem, type System } from '../harness/system';
import { moveCreation, pastCalls, writeCalls, writeHistory } from './past';
import { takePictures } from './shots';
import {
  ALERTS_HOST,
  callOf,
  CUSTOMERS,
  ENDS_SOON,
  GOOD,
  HOUR_MS,
  NOBODY,
  SELF_SIGNED,
  SOURCES,
} from './world';

/**
 * `node dist/tools/pictures/main.js`: takes the pictures of `docs/guide/console` anew, of a made-up
 * shop and its customers. It starts a system as `npm start` does, writes a day of its past, sends
 * real calls to real receivers, and opens the console in Chromium. The receivers listen on port 443
 * of loopback, so that no picture shows a port: run it as root, or allow that port to everybody.
 */

const say = (line: string) => process.stdout.write(`${line}\n`);

const LIVE_CALLS = 45;
const PORT = 443;
const READY_MS = 900_000;

async function main(): Promise<boolean> {
  const dataDir = mkdtempSync(join(tmpdir(), 'waypost-pictures-'));
  const undo: (() => unknown)[] = [() => removeData(dataDir)];
  try {
    const env = { ...(await openWorld(dataDir, undo)), WAYPOST_PARTITIONS: '3' };
    const start = () =>
      startSystem({
        embedded: true,
        together: true,
        dataDir,
        env,
        deadlineMs: READY_MS,
      });

    say('creates the world');
    const past = await start();
    undo.push(() => past.stop());
    const nowMs = Date.now();
    const calls = pastCalls(nowMs);
    const token = await createToken(past, 'Ada Wong', 'admin');
    await createToken(past, 'Support', 'read_only');
    const sources = await createSources(past);
    const ids = new Map([...sources].map(([name, { id }]) => [name, id]));
    // Profiles are kept from the first definition on.
    const created = await past.control('POST', '/audiences', {
      name: 'Loyal pros',
      condition: 'has(user.traits.plan) && user.traits.plan == "pro"',
    });
    const audience = created.body as { id: string; source: string };
    await writeCalls(past, calls, ids);
    await routed(past);
    const destinations = await createDestinations(past, ids, audience.source);
    await moveCreation(past);
    await change(apiOf({ ...past, adminToken: token.token }), destinations);
    await recorded(past);
    await past.stop();

    say(`writes ${String(calls.length)} calls of the last day`);
    const operator = { id: token.id, name: 'Ada Wong' };
    await writeHistory(dataDir, {
      nowMs,
      calls,
      sources: ids,
      destinations,
      audience: audience.id,
      operator,
    });

    say('sends calls, and takes the pictures');
    const system = await start();
    undo.push(() => system.stop());
    for (let i = 0; i < LIVE_CALLS; i++) {
      const { source, ...call } = callOf(calls.length + i);
      const { writeKey = '' } = sources.get(source) ?? {};
      await system.send(writeKey, call.type, call);
      await pause(400);
    }
    await system.send(sources.get('Mobile app')?.writeKey ?? '', 'batch', {
      batch: [{ type: 'track', event: 'Order Completed' }],
    });
    await takePictures(system, { token: token.token, sources: ids, destinations });
    return true;
  } finally {
    // Each is undone, also after one that fails: an open receiver would keep the process.
    for (const step of undo.reverse()) {
      try {
        await step();
      } catch (error) {
        say(`could not undo a step: ${messageOf(error)}`);
      }
    }
  }
}

/** Starts the receivers and their name server. @returns the settings by which Waypost finds them */
async function openWorld(dataDir: string, undo: (() => unknown)[]) {
  const authority = makeCertificate({ authority: true, name: 'pictures' });
  const hosts = [ALERTS_HOST, ...CUSTOMERS.map(({ host }) => host)];
  const endingIn = (days: number) =>
    makeCertificate({
      hosts,
      issuer: authority,
      notAfter: new Date(Date.now() + days * 24 * HOUR_MS),
    });
  // One that ends within two weeks is a notice for every customer behind it.
  const good = await startSink({ host: GOOD, port: PORT, tls: endingIn(90) });
  const soon = await startSink({ host: ENDS_SOON, port: PORT, tls: endingIn(9) });
  const odd = await startSink({ host: SELF_SIGNED, port: PORT, tls: makeCertificate({ hosts }) });
  const counts = new Map<string, number>();
  good.on('*', ({ headers: { host = '' } }) => {
    const nth = counts.get(host) ?? 0;
    counts.set(host, nth + 1);
    const customer = CUSTOMERS.find((each) => each.host === host);
    const answer = customer?.answer?.(nth) ?? {};
    const headers = { 'content-type': 'application/json', ...answer.headers };
    return { body: '{"received":true}', ...answer, headers };
  });
  const names = await startNameServer(
    Object.fromEntries([
      [ALERTS_HOST, GOOD],
      ...CUSTOMERS.map(({ host, address = GOOD }) => [host, address] as const),
    ]),
  );
  undo.push(
    () => good.close(),
    () => soon.close(),
    () => odd.close(),
    () => names.close(),
  );
  const file = join(dataDir, 'authority.pem');
  writeFileSync(file, authority.cert);
  return {
    NODE_EXTRA_CA_CERTS: file,
    WAYPOST_ALLOWED_NETWORKS: [GOOD, SELF_SIGNED, NOBODY, ENDS_SOON]
      .map((each) => `${each}/32`)
      .join(','),
    WAYPOST_DNS_SERVERS: names.address,
    WAYPOST_INGEST_URL: 'https://in.harbour.example',
    WAYPOST_RETRY_DELAYS: '10s,1m,5m,15m,30m',
  };
}

async function createToken(system: System, name: string, role: string) {
  const answer = await system.control('POST', '/tokens', { name, role });
  return answer.body as { id: string; token: string };
}

async function createSources(system: System) {
  const sources = new Map<string, { id: string; writeKey: string }>();
  for (const name of SOURCES) sources.set(name, await system.createSource(name));
  return sources;
}

/** Waits until the router has read all calls: it sends none to destinations that come later. */
async function routed({ env }: System): Promise<void> {
  const settings = loadSettings(env);
  const view = await KafkaView.open(kafkaAddress(settings), settings.WAYPOST_TOPIC_PREFIX);
  try {
    await eventually(
      async () => {
        const { open, written } = await view.open();
        if (written === 0 || open > 0) throw new Error(`${String(open)} records are open`);
      },
      { deadlineMs: 120_000 },
    );
  } finally {
    await view.close();
  }
}

/** Waits until the audit has all changes: what it learns later stays at its own time. */
async function recorded(system: System): Promise<void> {
  await eventually(async () => {
    const answer = await system.control('GET', '/audit?limit=200&sessions=false');
    const { data } = answer.body as { data: { action: string }[] };
    const changed = data.filter(({ action }) => action === 'changed');
    if (changed.length < CHANGES) throw new Error(`${String(changed.length)} changes`);
  });
}

/** @param audience the source of its calls */
async function createDestinations(
  system: System,
  sources: ReadonlyMap<string, string>,
  audience: string,
) {
  const destinations = new Map<string, Destination>();
  for (const { name, host, sources: from, events, getsAudience = false } of CUSTOMERS) {
    const usual = from.map((each) => sources.get(each) ?? '');
    const list = events?.map((event) => JSON.stringify(event)).join(', ');
    const filter = list && `type == "track" && event in [${list}]`;
    destinations.set(
      name,
      await system.createDestination({
        name,
        sources: getsAudience ? [...usual, audience] : usual,
        webhooks: [{ url: `https://${host}/waypost` }],
        sharedSecret: `whsec_${randomBytes(32).toString('base64')}`,
        ...defined({ filter }),
      }),
    );
  }
  return destinations;
}

/** Changes of destinations by `change`. The one of the alerts creates their entry. */
const CHANGES = 4;

/** Makes the changes whose marks are in the charts, and what else a shop would set up. */
async function change(
  { control }: Pick<System, 'control'>,
  destinations: ReadonlyMap<string, Destination>,
): Promise<void> {
  const patch = (name: string, fields: object) =>
    control('PATCH', `/destinations/${destinations.get(name)?.id ?? ''}`, fields);
  await control('PATCH', '/alerts', { webhooks: [{ url: `https://${ALERTS_HOST}/waypost` }] });
  await patch('Cobalt Data', { maxPerSecond: 50 });
  await patch('Helios Energy', { types: ['track', 'identify'] });
  await patch('Borealis CRM', { retry: { window: '12h' } });
  await patch('Acme Billing', { maxPerSecond: 20 });
}

runMain(main);
