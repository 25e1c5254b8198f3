import {
  chunkOf,
  currentCursor,
  type Job,
  newJob,
  nextPass,
} from '../../../../services/control/replays/job';
import { isFinal, progressOf } from '../../../../services/control/replays/job-view';

const scope = {
  destination: 'dst_1',
  origin: 'dead_letters' as const,
  from: null,
  to: 10,
  status: null,
  type: null,
  includeDelivered: false,
  onlyFailedUrls: false,
  reason: null,
};
const places = [
  { partition: 0, low: 0, next: 0, end: 10 },
  { partition: 1, low: 5, next: 5, end: 5 },
  { partition: 2, low: 0, next: 0, end: 30 },
];
const job = (over: Partial<Job> = {}): Job => ({
  ...newJob({ scope, preview: false, maxPerSecond: 10 }, { id: 'rpl_1', now: new Date(0), places }),
  ...over,
});
const at = (...next: number[]) => places.map((place, i) => ({ ...place, next: next[i]! }));

test('a pass reads the partitions one after the other', () => {
  expect(currentCursor(job())?.partition).toBe(0);
  expect(currentCursor(job({ places: at(10, 5, 0) }))?.partition).toBe(2);
  expect(currentCursor(job({ places: at(10, 5, 30) }))).toBeUndefined();
});

test('a replay counts first, then sends from the beginning', () => {
  const counted = job({ places: at(10, 5, 30), matched: 4 });
  expect(nextPass(counted)).toEqual({ ...counted, status: 'running', pass: 'running', places });
});

test.each<[string, Partial<Job>]>([
  ['was a preview that has counted', { preview: true, matched: 4 }],
  ['found nothing', { matched: 0 }],
  ['sent all', { status: 'running', pass: 'running', matched: 4 }],
])('a replay is done if it %s', (_, over) => {
  expect(nextPass(job(over)).status).toBe('done');
});

test.each<[string, Partial<Job>, number]>([
  ['0 before the first record', {}, 0],
  ['the share of the records that are read', { places: at(10, 5, 0) }, 0.25],
  ['1 after the last record', { places: at(10, 5, 30) }, 1],
  ['1 for an empty scope', { places: [] }, 1],
  ['0 before the search for what waits', { places: [], action: 'retry' }, 0],
  ['1 for a replay that is done', { status: 'done' }, 1],
])('the progress of a replay is %s', (_, over, progress) => {
  expect(progressOf(job(over))).toBe(progress);
});

test.each([
  [0.1, 1],
  [7, 1],
  [100, 20],
  [10_000, 500],
])('at %d a second a replay sends chunks of %d', (rate, size) => {
  expect(chunkOf(rate)).toBe(size);
});

test.each<[string, Partial<Job>, number, number, boolean]>([
  ['of a job that runs', { status: 'running', sent: 3 }, 3, 0, false],
  ['of a finished job whose deliveries have all ended', { status: 'done', sent: 3 }, 3, 0, true],
  ['of a finished job with open deliveries', { status: 'done', sent: 3 }, 2, 0, false],
  [
    'of a job that was just cancelled, and may have sent more than it knows',
    { status: 'cancelled', sent: 0 },
    0,
    0,
    false,
  ],
  ['of a job that was cancelled some time ago', { status: 'cancelled', sent: 0 }, 0, 601_000, true],
  [
    'of a job whose deliveries left the history',
    { status: 'done', sent: 3 },
    0,
    5 * 86_400_000,
    true,
  ],
])('whether the results are final: %s', (_, fields, settled, laterMs, expected) => {
  const one = job(fields);
  expect(isFinal(one, settled, one.updatedAt + laterMs)).toBe(expected);
});
