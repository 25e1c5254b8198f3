import { detectPlatform, type Platform } from '../../../clients/node/src/platform';
import { defined } from '../../../shared/collections/defined';
import { type Answer } from '../../../tools/harness/respond';
import { aTrack, bodyOf, type Rig, startRig } from './start';

/** A fake page with the parts that the client uses. */
function aPage(options: { keepalive?: boolean; beacons?: { url: string; body: string }[] } = {}) {
  const { keepalive = true, beacons } = options;
  const listeners = new Map<string, Set<() => void>>();
  const target = {
    addEventListener: (type: string, listener: () => void) => {
      listeners.set(type, (listeners.get(type) ?? new Set()).add(listener));
    },
    removeEventListener: (type: string, listener: () => void) =>
      listeners.get(type)?.delete(listener),
  };
  const document = { ...target, visibilityState: 'visible' };
  const globals = {
    ...target,
    document,
    Request: { prototype: keepalive ? { keepalive: false } : {} },
    ...defined({
      navigator: beacons
        ? { sendBeacon: (url: string, body: string) => beacons.push({ url, body }) > 0 }
        : undefined,
    }),
  };
  return {
    platform: detectPlatform(globals),
    document,
    listeners: () => [...listeners.values()].reduce((sum, set) => sum + set.size, 0),
    emit: (type: string) => listeners.get(type)?.forEach((listener) => listener()),
  };
}

let rig: Rig;
afterEach(() => rig.close());
const start = (platform: Platform, answer: Answer | Answer[] = {}) =>
  startRig({ platform, answer, flushAfterMs: 3_600_000 });

test('a request is a simple CORS request with the write key in its body', async () => {
  rig = await start(aPage().platform);
  for (let i = 0; i < 50; i++) rig.analytics.track(aTrack(String(i)));
  await rig.analytics.flush();
  const [request] = rig.sink.received();
  expect(request!.headers['content-type']).toBe('text/plain');
  expect(request!.headers.authorization).toBeUndefined();
  expect(request!.headers['content-encoding']).toBeUndefined();
  expect(bodyOf(request!).writeKey).toBe('key');
});

test('each request is small enough to outlive its page', async () => {
  rig = await start(aPage().platform);
  for (let i = 0; i < 100; i++) {
    rig.analytics.track({ ...aTrack(String(i)), properties: { text: 'x'.repeat(2_000) } });
  }
  await rig.analytics.flush();
  for (const { body } of rig.sink.received()) expect(body.length).toBeLessThan(64_000);
  expect(new Set(rig.ids()).size).toBe(100);
});

test.each(['pagehide', 'visibilitychange'])('queued calls are sent on %s', async (event) => {
  const page = aPage();
  rig = await start(page.platform);
  rig.analytics.track(aTrack('one'));
  page.emit('visibilitychange'); // it became visible
  page.document.visibilityState = 'hidden';
  page.emit(event);
  await rig.sink.waitFor(1);
  expect(rig.ids()).toEqual(['one']);
  // A page that is visible again continues.
  rig.analytics.track(aTrack('two'));
  await rig.analytics.flush();
  expect(rig.delivered).toEqual(['one', 'two']);
});

test('a visible page keeps its queue', async () => {
  const page = aPage();
  rig = await start(page.platform);
  rig.analytics.track(aTrack('one'));
  page.emit('visibilitychange');
  await new Promise(setImmediate);
  expect(rig.sink.received()).toEqual([]);
});

test('without keepalive the client sends a beacon', async () => {
  const beacons: { url: string; body: string }[] = [];
  const page = aPage({ keepalive: false, beacons });
  rig = await start(page.platform);
  rig.analytics.track(aTrack('one'));
  page.emit('pagehide');
  expect(beacons).toEqual([
    { url: rig.sink.url('/v1/batch'), body: expect.stringContaining('"writeKey":"key"') },
  ]);
  expect(rig.delivered).toEqual(['one']);
  expect(rig.sink.received()).toEqual([]);
});

test('close leaves nothing on the page', async () => {
  const page = aPage();
  rig = await start(page.platform);
  expect(page.listeners()).toBe(2);
  await rig.analytics.close();
  expect(page.listeners()).toBe(0);
});
