import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Definitions } from '../../../../services/audiences/definitions/compile';
import { type PartitionProcessor } from '../../../../services/audiences/profiles/partition-processor';
import { encodeEvent, type ProfileEvent } from '../../../../services/audiences/repartition/event';
import { type InRecord } from '../../../../shared/kafka/port';
import { eventually } from '../../../support/eventually';
import { aRecord } from '../../../support/factories';
import { memoryLog, type MemoryLog } from '../../../support/memory-log';
import { identify } from '../engine-under-test';
import { PRO, processorUnderTest, SYNC_MS } from '../processor-under-test';

/**
 * A process that is frozen while it writes to the changelog, and goes on after another one has
 * taken the partition over.
 */

const EVENTS = 'profiles.events';
const CHANGELOG = 'profiles';
const MESSAGES = 'messages';
const LOOK_MS = 10_000;
const SESSION_MS = 6_000;

let memory: MemoryLog;
let nowMs: number;
let path: string;
let definitions: Definitions;
const opened: PartitionProcessor[] = [];
beforeEach(() => {
  memory = memoryLog();
  nowMs = Date.now();
  definitions = new Definitions([]);
  path = mkdtempSync(join(tmpdir(), 'waypost-frozen-'));
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((processor) => close(processor, { lost: false })));
  rmSync(path, { recursive: true });
});

/** @param folder of its store @param sends resolves when the process goes on */
async function open(folder: string, sends = () => Promise.resolve()): Promise<PartitionProcessor> {
  const producer = await memory.kafka.producer({ maxPendingBytes: 1, deliveryTimeoutMs: 'retry' });
  const processor = processorUnderTest({
    kafka: memory.kafka,
    tryingKafka: memory.kafka,
    producer: {
      ...producer,
      send: async (records) => {
        await sends();
        return producer.send(records);
      },
    },
    path: join(path, folder),
    definitions: () => definitions,
    now: () => nowMs,
  });
  opened.push(processor);
  await eventually(() => expect(processor.report()).toBeDefined());
  return processor;
}

async function close(processor: PartitionProcessor, how: { lost: boolean }): Promise<void> {
  processor.close(how);
  await processor.closed;
}

/** Appends an event, and offers it as the consumer does. */
function receive(event: ProfileEvent, processor: PartitionProcessor, user = 'ann'): void {
  memory.append([{ topic: EVENTS, key: user, ...encodeEvent(event) }]);
  processor.offer(copyOf(memory.records(EVENTS).at(-1)!));
}

function copyOf({ topic, offset, epoch, timestampMs, key, value, headers }: InRecord) {
  return aRecord({ topic, offset, epoch, timestampMs, key, value, headers });
}

const planOf = (processor: PartitionProcessor) =>
  processor.snapshot?.store.get('ann')?.traits?.s?.plan?.[0];
/** what compaction keeps of her */
const compacted = () =>
  String(memory.records(CHANGELOG).findLast(({ key }) => String(key) === 'uann')?.value);

const CHANGES: [change: string, event: ProfileEvent, plan: string | undefined][] = [
  ['changed', identify({ plan: 'pro' }), 'pro'],
  ['deleted', { kind: 'delete', at: Date.now(), sources: null }, undefined],
];

/**
 * A former owner writes a profile behind the record with which its successor has changed it.
 * @returns the successor
 */
async function writtenLate(event: ProfileEvent) {
  let goOn = (): void => undefined;
  let frozen = Promise.resolve();
  const former = await open('former', () => frozen);
  receive(identify({ plan: 'basic' }), former);
  await eventually(() => expect(planOf(former)).toBe('basic'));
  frozen = new Promise((resolve) => (goOn = resolve));
  receive(identify({ plan: 'stale' }), former);
  await eventually(() => expect(former.queued).toBe(1));
  nowMs += SESSION_MS;
  const owner = await open('owner');
  receive(event, owner);
  await eventually(() => expect(owner.snapshot?.next).toBe(3));
  goOn();
  await eventually(() => expect(planOf(former)).toBe('stale'));
  await close(former, { lost: true });
  expect(compacted()).toContain('stale');
  // A step of the owner says that all events are counted.
  receive(identify({}), owner, 'bob');
  await eventually(() => expect(owner.snapshot?.next).toBe(4));
  return owner;
}

test.each(CHANGES)(
  'the owner writes a user again whom it has %s, so that compaction keeps this',
  async (_, event, plan) => {
    const owner = await writtenLate(event);
    nowMs += LOOK_MS;
    await eventually(() => expect(compacted()).not.toContain('stale'));
    expect(planOf(owner)).toBe(plan);
  },
);

test.each(CHANGES)(
  'the next owner restores a user who was %s before, and writes him again',
  async (_, event, plan) => {
    const owner = await writtenLate(event);
    await close(owner, { lost: true });
    const next = await open('next');
    expect(planOf(next)).toBe(plan);
    await eventually(() => expect(compacted()).not.toContain('stale'));
  },
);

test.each(CHANGES)(
  'the former owner forgets what it wrote, of a user who was %s',
  async (_, event, plan) => {
    const owner = await writtenLate(event);
    await close(owner, { lost: true });
    const former = await open('former');
    expect(planOf(former)).toBe(plan);
  },
);

/** @param processor of an open store */
const phaseOf = (processor: PartitionProcessor) => processor.report()?.definitions.aud_pro?.phase;

test('a value that its successor does not know reaches no receiver', async () => {
  definitions = new Definitions([PRO]);
  let goOn = (): void => undefined;
  let frozen = Promise.resolve();
  const sends = jest.fn(() => frozen);
  const former = await open('former', sends);
  receive(identify({ plan: 'basic' }), former);
  await eventually(() => expect([planOf(former), phaseOf(former)]).toEqual(['basic', 'live']));
  receive(identify({ plan: 'pro' }), former);
  await eventually(() => expect(planOf(former)).toBe('pro'));

  // Frozen while it writes that she is a member.
  frozen = new Promise((resolve) => (goOn = resolve));
  const { length } = sends.mock.calls;
  nowMs += SYNC_MS;
  await eventually(() => expect(sends.mock.calls.length).toBeGreaterThan(length));
  // Its successor counts a later event, and has nothing to send.
  memory.append([{ topic: EVENTS, key: 'ann', ...encodeEvent(identify({ plan: 'free' })) }]);
  const owner = await open('owner');
  await eventually(() => expect([planOf(owner), phaseOf(owner)]).toEqual(['free', 'live']));
  const { length: written } = memory.records(CHANGELOG);
  goOn();
  await eventually(() => expect(memory.records(CHANGELOG).length).toBeGreaterThan(written));
  // It does not own the partition any more, and has not learned of that yet.
  await eventually(() => expect(former.report()).toBeUndefined());
  await close(former, { lost: true });
  expect(memory.records(MESSAGES)).toEqual([]);
});

test('a process that owns its partition after all begins another term', async () => {
  const former = await open('former');
  await open('other');
  receive(identify({ plan: 'basic' }), former);
  await eventually(() => expect(planOf(former)).toBe('basic'));
  nowMs += LOOK_MS;
  await eventually(() => expect(former.report()).toBeUndefined());
  nowMs += 3 * LOOK_MS;
  await eventually(() => expect(planOf(former)).toBe('basic'));
  receive(identify({ plan: 'pro' }), former);
  await eventually(() => expect(planOf(former)).toBe('pro'));
  expect(compacted()).toContain('pro');
});
