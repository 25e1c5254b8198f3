import { Forgotten } from '../../../../services/control/history/deletions';
import { EventBuffer, type EventFilter } from '../../../../services/control/debugger/buffer';
import { defined } from '../../../../shared/collections/defined';
import { type InRecord } from '../../../../shared/kafka/port';
import { aRecord } from '../../../support/factories';

let offset = 0;
function aCall(
  call: object | string,
  { source = 'src_1', atMs = 1_000, bytes = 0 } = {},
): InRecord {
  const text =
    typeof call === 'string'
      ? call
      : JSON.stringify({
          ...call,
          ...defined({ pad: bytes > 0 ? 'x'.repeat(bytes) : undefined }),
        });
  return aRecord({
    offset: offset++,
    timestampMs: atMs,
    value: Buffer.from(text),
    headers: { source },
  });
}
const track = (userId: string) => ({ type: 'track', userId, event: 'Order' });
const ids = (entries: { id: string }[]) => entries.map(({ id }) => id);
/** Returns the newest events that a filter selects, before another one. */
const newest = (
  ring: EventBuffer,
  filter: EventFilter = {},
  { limit = 1_000, before }: { limit?: number; before?: string } = {},
) =>
  ring
    .newestFirst(filter.source === undefined ? undefined : [filter.source], before)
    .filter((entry) => ring.shows(entry, filter))
    .slice(0, limit);

test('events of partitions read one after another are in time order, also on later pages', () => {
  const ring = new EventBuffer();
  const [third, first, second] = [30, 10, 20].map((atMs) =>
    ring.add(aCall(track('kim'), { atMs }), true),
  );
  const page = newest(ring, {}, { limit: 2 });
  expect(ids(page)).toEqual([third!.id, second!.id]);
  expect(ids(newest(ring, {}, { limit: 2, before: second!.id }))).toEqual([first!.id]);
});

describe('searching', () => {
  const ring = new EventBuffer();
  const added = [
    ring.add(aCall(track('kim')), true),
    ring.add(aCall({ type: 'page', anonymousId: 'visitor' }, { source: 'src_2' }), true),
    ring.add(aCall({ code: 'no_user_anon_id', message: 'why', call: { type: 'track' } }), false),
    ring.add(aCall(track('lee')), true),
    ring.add(aCall('not JSON'), true),
  ];
  test.each([
    ['all events', {}, [4, 3, 2, 1, 0]],
    ['events of a source', { source: 'src_2' }, [1]],
    ['events of a type, including rejected ones', { type: 'track' }, [3, 2, 0]],
    ['events of a user', { user: 'kim' }, [0]],
    ['events of an anonymous id', { user: 'visitor' }, [1]],
    ['rejected events', { accepted: false }, [2]],
    ['no events of an unknown source', { source: 'src_3' }, []],
  ])('the buffer finds %s, newest first', (_, filter, expected) => {
    expect(ids(newest(ring, filter, { limit: 10 }))).toEqual(expected.map((i) => added[i]!.id));
  });

  test('the buffer returns events in pages', () => {
    const first = newest(ring, {}, { limit: 2 });
    expect(ids(newest(ring, {}, { limit: 2, before: first[1]!.id }))).toEqual([
      added[2]!.id,
      added[1]!.id,
    ]);
    expect(newest(ring, {}, { limit: 2, before: 'zz-m0-99' })).toEqual([]);
  });

  test('the buffer shows a call as it came, and why it was rejected', () => {
    expect(added[0]!.view()).toEqual({
      id: added[0]!.id,
      at: '1970-01-01T00:00:01.000Z',
      source: 'src_1',
      accepted: true,
      call: track('kim'),
      warnings: [],
    });
    expect(added[2]!.view()).toMatchObject({
      accepted: false,
      code: 'no_user_anon_id',
      message: 'why',
      call: { type: 'track' },
    });
    expect(added[4]!.view().call).toBe('not JSON');
  });
});

test.each([
  [undefined, 1],
  ['1', 1],
  ['2000', 2_000],
  ['nonsense', 1],
])('a record whose header counts %s calls stands for %d', (count, calls) => {
  const record = aCall({ code: 'unreadable', message: 'why', call: null });
  const entry = new EventBuffer().add(
    { ...record, headers: { ...record.headers, ...defined({ count }) } },
    false,
  );
  expect(entry.calls).toBe(calls);
  expect(entry.view().count).toBe(count === undefined || count === 'nonsense' ? undefined : calls);
});

describe('resuming after an event', () => {
  const ring = new EventBuffer();
  const added = [1_000, 2_000, 3_000, 9_000].map((atMs) =>
    ring.add(aCall(track('kim'), { atMs }), true),
  );

  test('later events are returned in order, without the given one', () => {
    expect(ids(ring.since(added[1]!.id, {}))).toEqual([added[2]!.id, added[3]!.id]);
    expect(ring.since(added[3]!.id, {})).toEqual([]);
    expect(ring.since(added[0]!.id, { source: 'src_2' })).toEqual([]);
    expect(ring.since(added[0]!.id, { accepted: false })).toEqual([]);
  });

  test('later events return although their partition came first, as after a control start', () => {
    const started = new EventBuffer();
    const [later, , seen] = [9_000, 1_000, 5_000].map((atMs) =>
      started.add(aCall(track('kim'), { atMs }), true),
    );
    expect(ids(started.since(seen!.id, {}))).toEqual([later!.id]);
  });

  test('after an unknown event, all from shortly before its time are returned', () => {
    const unknown = `${(5_500).toString(36)}-m7-1`;
    expect(ids(ring.since(unknown, {}))).toEqual([added[3]!.id]);
    expect(ids(ring.since(`${(4_000).toString(36)}-m7-1`, {}))).toEqual(ids(added.slice(1)));
    expect(ring.since('nonsense', {})).toEqual([]);
  });
});

describe('limits', () => {
  test('the buffer limits the events of each source', () => {
    const ring = new EventBuffer({ perSource: 8, bytes: 1e9, total: 1e9 });
    for (let i = 0; i < 100; i++) ring.add(aCall(track('kim')), true);
    ring.add(aCall(track('kim'), { source: 'src_2' }), true);
    expect(newest(ring, { source: 'src_1' }, { limit: 100 }).length).toBeLessThanOrEqual(10);
    expect(newest(ring, { source: 'src_2' }, { limit: 100 })).toHaveLength(1);
  });

  test('the buffer limits its bytes, at the cost of the largest source', () => {
    const ring = new EventBuffer({ perSource: 1_000, bytes: 100_000, total: 1e9 });
    ring.add(aCall(track('kim'), { source: 'quiet' }), true);
    for (let i = 0; i < 500; i++) {
      ring.add(aCall(track('kim'), { source: 'busy', bytes: 1_000 }), true);
      expect(ring.bytes).toBeLessThanOrEqual(100_000);
    }
    expect(newest(ring, { source: 'quiet' }, { limit: 10 })).toHaveLength(1);
    expect(newest(ring, { source: 'busy' }, { limit: 1_000 }).length).toBeGreaterThan(30);
  });

  test('the buffer limits the number of events', () => {
    const ring = new EventBuffer({ perSource: 1_000, bytes: 1e9, total: 50 });
    for (let i = 0; i < 500; i++) ring.add(aCall(track('kim'), { source: `src_${i % 100}` }), true);
    expect(newest(ring, {}, { limit: 1_000 }).length).toBeLessThanOrEqual(50);
  });
});

test("the buffer hides and frees a deleted user's earlier calls of the deletion's sources", () => {
  const forgotten = new Forgotten();
  const ring = new EventBuffer(undefined, forgotten);
  for (const source of ['src_1', 'src_2']) {
    for (const user of ['kim', 'lee']) ring.add(aCall(track(user), { source }), true);
  }
  const before = ring.bytes;
  const { atMs } = newest(ring, {}, { limit: 1 })[0]!;
  const shown = () => newest(ring, {}, { limit: 10 }).length;
  forgotten.add({ at: atMs - 1_000, users: ['lee'], anonymous: [], sources: null });
  expect(shown()).toBe(4);
  forgotten.add({ at: atMs + 1_000, users: ['kim'], anonymous: [], sources: ['src_1'] });
  expect(shown()).toBe(3);
  expect(newest(ring, { source: 'src_1', user: 'kim' }, { limit: 10 })).toEqual([]);
  expect(ring.bytes).toBe(before);
  ring.purge();
  expect(ring.bytes).toBeLessThan(before);
  expect(shown()).toBe(3);
});
