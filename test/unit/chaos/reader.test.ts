import { OPERATION_IDS } from '../../../shared/api/access';
import {
  everyRead,
  type Known,
  type ReaderRequest,
  readerRequests,
} from '../../../tools/chaos/reader';

const KNOWN: Known = {
  ids: {
    '/sources': ['src_1', 'src_2'],
    '/destinations': ['dst_1'],
    '/deliveries': ['dlv_1'],
    '/audiences': ['aud_1'],
    '/audiences/previews': ['pre_1'],
    '/computed-traits': ['trt_1'],
    '/replays': ['rpl_1'],
    '/notices': ['ntc_1'],
    '/tokens': ['tok_1'],
    '/deletions': ['del_1'],
  },
  messages: ['msg_1'],
};
const IDS = Object.values(KNOWN.ids).flat();

const LAP = everyRead(1, KNOWN);
const reads = OPERATION_IDS.filter((id) => id.startsWith('GET '));
const namesOne = (path: string) => path.split(/[/?]/).some((part) => IDS.includes(part));

function firstOf(seed: number, n: number): ReaderRequest[] {
  const requests = readerRequests(seed, KNOWN);
  return Array.from({ length: n }, () => requests.next().value);
}

test.each(reads)('%s is tried, with an id that exists if it reads one thing', (id) => {
  const tried = LAP.filter(({ operation }) => operation === id);
  expect(tried).toHaveLength(1);
  const path = id.split(' ')[1]!;
  if (path.includes('{id}')) expect(namesOne(tried[0]!.path)).toBe(true);
  else expect(tried[0]!.path.split('?')[0]).toBe(path);
});

test('a lookup names a message that exists', () => {
  expect(LAP.map(({ path }) => path)).toContain('/lookup?message=msg_1');
});

test('the endless sequence comes to every operation, mostly with ids that exist', () => {
  const requests = firstOf(3, 1_000);
  expect(new Set(requests.map(({ operation }) => operation))).toEqual(
    new Set(LAP.map(({ operation }) => operation)),
  );
  const ofOne = requests.filter(({ operation }) => operation.includes('{id}'));
  const existing = ofOne.filter(({ path }) => namesOne(path));
  expect(existing.length / ofOne.length).toBeGreaterThan(0.8);
  expect(existing.length).toBeLessThan(ofOne.length);
});

test('an id that becomes known is used from then on', () => {
  const known = { ...KNOWN, ids: { ...KNOWN.ids, '/audiences/previews': ['pre_1'] } };
  const requests = readerRequests(3, known);
  known.ids['/audiences/previews'] = ['pre_2'];
  const paths = Array.from({ length: 600 }, () => requests.next().value.path);
  expect(paths).toContain('/audiences/previews/pre_2');
  expect(paths).not.toContain('/audiences/previews/pre_1');
});

test('the same seed gives the same requests', () => {
  expect(firstOf(5, 100)).toEqual(firstOf(5, 100));
  expect(firstOf(5, 100)).not.toEqual(firstOf(6, 100));
});
