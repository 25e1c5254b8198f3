import { type ProfileResult, readResult } from '../../../../shared/model/profile-records';
import { eventually } from '../../../support/eventually';
import { memoryLog, type MemoryLog } from '../../../support/memory-log';
import {
  type RunningQueryServer,
  startQueryServer,
  EMPTY_LOG,
  profileStore,
} from '../../../support/profiles';

const HOUR_MS = 3_600_000;
let memory: MemoryLog;
let process: RunningQueryServer;
let nowMs: number;
beforeEach(async () => {
  nowMs = Date.now();
  memory = memoryLog();
  const sent = { sentValues: { aud_1: [true, 1_000, 1] as [boolean, number, number] } };
  const ann = { ...sent, traits: { s: { plan: ['pro', 0] as [string, number] } } };
  process = await startQueryServer(
    memory,
    { ann, bob: sent, cyn: {}, dan: { ...sent, absent: 1 } },
    { now: () => nowMs },
  );
});
afterEach(() => process.stop());

const ask = (id: string, question: object) =>
  memory.append([
    {
      topic: 'profiles.queries',
      key: id,
      value: JSON.stringify({ id, expiresAt: nowMs + 60_000, ...question }),
    },
  ]);
const preview = (id: string, condition = 'user.traits.plan == "pro"') =>
  ask(id, { kind: 'preview', condition });
const resultsOf = (id: string): ProfileResult[] =>
  memory
    .records('profiles.results')
    .filter(({ key }) => String(key) === id)
    .map(({ value }) => readResult(value)!);

test('a preview is acknowledged, and counted to its end', async () => {
  preview('pre_1');
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({
      kind: 'preview',
      partition: 0,
      state: 'done',
      members: 1,
      failed: 2,
    });
  });
  expect(resultsOf('pre_1')[0]).toEqual({ kind: 'heard' });
});

test('a query of members returns the users whose membership was sent, in order', async () => {
  const where = { kind: 'members', definition: 'aud_1', limit: 9 };
  ask('all', { ...where, partitions: [{ partition: 0 }] });
  ask('rest', { ...where, limit: 1, partitions: [{ partition: 0, after: 'ann' }] });
  ask('one', { ...where, partitions: [{ partition: 0 }], user: 'cyn' });
  ask('other', { ...where, partitions: [{ partition: 7 }] });
  const member = (userId: string) => ({ userId, value: true, since: 1_000 });
  await eventually(() => {
    expect(resultsOf('all').at(-1)).toMatchObject({
      members: [member('ann'), member('bob')],
      end: true,
    });
    expect(resultsOf('rest').at(-1)).toMatchObject({ members: [member('bob')], end: false });
    expect(resultsOf('one').at(-1)).toMatchObject({ members: [], end: true });
  });
  expect(resultsOf('other')).toEqual([{ kind: 'heard' }]);
});

test('the final owner of a partition answers for it', async () => {
  const before = process.processors.get(0)!;
  process.processors.delete(0);
  preview('pre_1');
  await eventually(() => {
    expect(resultsOf('pre_1')).toEqual([{ kind: 'heard' }]);
  });
  process.processors.set(0, { ...before, snapshot: undefined });
  process.processors.set(0, before);
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({ state: 'done' });
  });
  // The partition was away and comes back: its profiles may have changed.
  const snapshot = { store: profileStore({}), log: EMPTY_LOG, ready: true, next: 0 };
  process.processors.set(0, { snapshot, queued: 5 });
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({ state: 'done', profiles: 0 });
  });
});

test('a preview goes on after a process has opened the store of its partition again', async () => {
  const snapshot = process.processors.get(0)!.snapshot!;
  snapshot.ready = false;
  let isOpen = true;
  let looks = 0;
  process.processors.set(0, {
    queued: 0,
    get snapshot() {
      looks++;
      return isOpen ? snapshot : undefined;
    },
  });
  preview('pre_1');
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({ state: 'waiting' });
  });
  isOpen = false;
  const before = looks;
  nowMs += 1_000;
  await eventually(() => {
    expect(looks).toBeGreaterThan(before);
  });
  isOpen = true;
  snapshot.ready = true;
  nowMs += 1_000;
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({ state: 'done', members: 1 });
  });
});

test('a fifth preview cancels the oldest, and its caller gets the reason', async () => {
  process.processors.clear();
  for (let i = 0; i < 5; i++) preview(`pre_${i}`);
  await eventually(() => {
    expect(resultsOf('pre_0').at(-1)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('Too many previews'),
    });
    expect(resultsOf('pre_4')).toEqual([{ kind: 'heard' }]);
  });
  expect(resultsOf('pre_1')).toEqual([{ kind: 'heard' }]);
});

test('a cancelled or expired query gets no further results', async () => {
  process.processors.get(0)!.snapshot!.ready = false;
  preview('pre_1');
  preview('pre_2');
  await eventually(() => {
    expect(resultsOf('pre_2').at(-1)).toMatchObject({ state: 'waiting' });
  });
  ask('pre_1', { kind: 'cancel' });
  ask('late', { kind: 'preview', condition: 'true', expiresAt: nowMs - 1 });
  nowMs += 50_000;
  preview('pre_3', 'true');
  nowMs += 11_000;
  process.processors.get(0)!.snapshot!.ready = true;
  await eventually(() => {
    expect(resultsOf('pre_3').at(-1)).toMatchObject({ state: 'done' });
  });
  expect([resultsOf('pre_1').at(-1), resultsOf('pre_2').at(-1)]).toMatchObject([
    { state: 'waiting' },
    { state: 'waiting' },
  ]);
  expect(resultsOf('late')).toEqual([]);
});

test('a condition that this version cannot parse is refused', async () => {
  preview('pre_1', 'nonsense(');
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('line 1'),
    });
  });
});

test('a preview begun anew twice is refused, so that it cannot end each next process', async () => {
  await process.stop();
  preview('pre_1');
  ask('pre_1', { kind: 'attempt' });
  ask('pre_1', { kind: 'attempt' });
  ask('pre_2', { kind: 'preview', condition: 'true', expiresAt: nowMs - 1 });
  preview('pre_4', 'true');
  ask('pre_4', { kind: 'attempt' });
  ask('all', { kind: 'members', definition: 'aud_1', limit: 9, partitions: [{ partition: 0 }] });
  const { kafka } = memory;
  const tail: typeof kafka.tail = (options) => kafka.tail({ ...options, from: 'beginning' });
  const before = { ...memory, kafka: { ...kafka, tail } };
  process = await startQueryServer(before, { ann: {} }, { now: () => nowMs });
  const read = jest.spyOn(process.processors.get(0)!.snapshot!.store, 'users');
  preview('pre_3', 'false');
  await eventually(() => {
    expect(resultsOf('pre_3').at(-1)).toMatchObject({ state: 'done' });
  });
  await eventually(() => {
    expect(resultsOf('pre_4').at(-1)).toMatchObject({ state: 'done', members: 1 });
  });
  const attempts = memory
    .records('profiles.queries')
    .map(({ value }) => String(value))
    .filter((text) => text.includes('attempt') && text.includes('pre_4'));
  expect(attempts).toHaveLength(2);
  expect(resultsOf('pre_1').at(-1)).toMatchObject({
    kind: 'refused',
    reason: expect.stringContaining('ended meanwhile'),
  });
  expect(resultsOf('pre_2')).toEqual([]);
  expect(resultsOf('all').at(-1)).toMatchObject({ kind: 'members' });
  // pre_3 and pre_4
  expect(read).toHaveBeenCalledTimes(2);
  expect(process.server.wantsProfiles(nowMs)).toBe(true);
});

test('a condition that takes too much work is refused, and others are counted', async () => {
  await process.stop();
  let cpuMs = 0;
  let stepMs = 6;
  const many = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`user-${i}`, {}]));
  process = await startQueryServer(memory, many, { cpu: () => (cpuMs += stepMs) });
  const evaluated = jest.spyOn(process.processors.get(0)!.snapshot!.store, 'get');
  preview('pre_1', 'true');
  await eventually(() => {
    expect(resultsOf('pre_1').at(-1)).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('takes too much work for this many profiles'),
    });
  });
  // A piece has eight profiles, at whose end it looks at the clock for the third time.
  expect(evaluated.mock.calls.length).toBeGreaterThan(4_000);
  expect(evaluated.mock.calls.length).toBeLessThan(4_600);
  stepMs = 0;
  preview('pre_2', 'true');
  await eventually(() => {
    expect(resultsOf('pre_2').at(-1)).toMatchObject({ state: 'done', members: 9_000 });
  });
});

test('profiles are needed for an hour after the last preview', async () => {
  expect(process.server.wantsProfiles(nowMs)).toBe(false);
  preview('pre_1');
  await eventually(() => {
    expect(process.server.wantsProfiles(nowMs)).toBe(true);
  });
  expect(process.server.wantsProfiles(nowMs + 2 * HOUR_MS)).toBe(false);
});
