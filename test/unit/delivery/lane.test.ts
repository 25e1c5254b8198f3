import { Lane, type Job, type LaneOptions } from '../../../services/delivery/lane';

const OPTIONS: LaneOptions = { floor: 1, start: 4, ceiling: 8, maxWaitMs: 1_000, maxQueuedBytes: 10_000 };

/** A lane and jobs whose starts are written down. */
function setUp(options: Partial<LaneOptions> = {}) {
  const lane = new Lane({ ...OPTIONS, ...options });
  const started: string[] = [];
  const job = (name: string, { due = false, bytes = 10 } = {}): Job => ({
    bytes,
    due,
    start: () => started.push(name),
  });
  return { lane, started, job };
}

describe('a lane', () => {
  test('starts as many as it may have open, queues what it drains in time, and starts those as places come free', () => {
    const { lane, started, job } = setUp();
    const jobs = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => job(name));
    expect(jobs.map((j) => lane.offer(j, 0))).toEqual(['started', 'started', 'started', 'started', 'queued', 'queued']);
    expect(started).toEqual(['a', 'b', 'c', 'd']);
    lane.ended(jobs[1]!, 10, false);
    expect(started).toEqual(['a', 'b', 'c', 'd', 'e']);
    expect([lane.active, lane.queued]).toEqual([4, 1]);
  });

  test('a healthy burst is queued, however much larger than the lane it is', () => {
    const { lane, job } = setUp({ maxQueuedBytes: 1e9, start: 20, ceiling: 64, maxWaitMs: 10_000 });
    const offers = Array.from({ length: 1_500 }, (_, i) => lane.offer(job(String(i)), 0));
    expect(offers.filter((offer) => typeof offer === 'object')).toEqual([]);
  });

  test('a hung endpoint makes it full by the age of its oldest request, before anything has timed out', () => {
    const { lane, job } = setUp();
    for (const name of ['a', 'b', 'c', 'd']) lane.offer(job(name), 0);
    expect(lane.offer(job('e'), 100)).toBe('queued');
    // Four places, each held for 3 s by now: two more would wait (2 / 4) x 3 s.
    expect(lane.offer(job('f'), 3_000)).toEqual({ expectedWaitMs: 1_500 });
  });

  test('holds no more than its share of memory', () => {
    const { lane, job } = setUp({ start: 1, maxQueuedBytes: 100 });
    lane.offer(job('a'), 0);
    expect(lane.offer(job('b', { bytes: 90 }), 0)).toBe('queued');
    expect(lane.offer(job('c', { bytes: 20 }), 0)).toMatchObject({ expectedWaitMs: expect.any(Number) });
  });

  test('narrows by half once per wave of timeouts, never below its floor, and widens again while it answers in full use', () => {
    const { lane, job } = setUp({ start: 8, ceiling: 8 });
    const wave = Array.from({ length: 8 }, (_, i) => job(String(i)));
    for (const j of wave) lane.offer(j, 0);
    for (const j of wave) lane.ended(j, 5_000, true);
    expect(lane.limit).toBe(4);
    for (let round = 0; round < 10; round++) {
      const hung = job(`h${String(round)}`);
      lane.offer(hung, 6_000 * (round + 1));
      lane.ended(hung, 6_000 * (round + 1) + 5_000, true);
    }
    expect(lane.limit).toBe(1);
    for (let i = 0; i < 200; i++) {
      const quick = job(`q${String(i)}`);
      const next = job(`n${String(i)}`);
      lane.offer(quick, 100_000 + i);
      lane.offer(next, 100_000 + i);
      lane.ended(quick, 100_001 + i, false);
      lane.ended(next, 100_001 + i, false);
    }
    expect(lane.limit).toBeGreaterThan(1);
  });

  test('first attempts go first, and due retries still get every fourth place', () => {
    const { lane, started, job } = setUp({ start: 1, maxWaitMs: 1e9, ceiling: 1 });
    const running = job('running');
    lane.offer(running, 0);
    const all = new Map<string, Job>();
    for (let i = 0; i < 8; i++) {
      for (const [name, due] of [
        [`due${String(i)}`, true],
        [`fresh${String(i)}`, false],
      ] as const) {
        const j = job(name, { due });
        all.set(name, j);
        lane.offer(j, 0);
      }
    }
    lane.ended(running, 1, false);
    for (let i = 0; i < 15; i++) lane.ended(all.get(started.at(-1)!)!, 2 + i, false);
    const firstEight = started.slice(1, 9).map((name) => name.replace(/\d/, ''));
    expect(firstEight).toEqual(['fresh', 'fresh', 'fresh', 'due', 'fresh', 'fresh', 'fresh', 'due']);
    expect(started).toHaveLength(17);
  });

  test('a job that is taken out of the queue is never started', () => {
    const { lane, started, job } = setUp({ start: 1 });
    const [a, b] = [job('a'), job('b')];
    lane.offer(a, 0);
    lane.offer(b, 0);
    expect(lane.remove(b)).toBe(true);
    expect(lane.remove(a)).toBe(false);
    lane.ended(a, 1, false);
    expect(started).toEqual(['a']);
    expect(lane.idle).toBe(true);
  });
});
