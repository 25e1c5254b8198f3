import { RecallLog } from '../../../services/retry/recall-log';
import { type Recall, type RecallRecord, STANDS_MS } from '../../../shared/model/recall';

const AT = 1_700_000_000_000;
const PARTITIONS = 2;

const aRecall = (fields: Partial<Recall> = {}): Recall => ({
  kind: 'recall',
  id: 'rcl',
  action: 'retry_all',
  where: { destination: 'dst' },
  keys: ['dst:0'],
  ...fields,
});
const ONE = { where: { delivery: { id: 'dlv_1', replay: 0, attempt: 1 } } };
const searched: RecallRecord = {
  kind: 'searched',
  recall: 'rcl',
  partitions: [0, 1],
  of: PARTITIONS,
};
const stop: RecallRecord = { kind: 'stop', recall: 'rcl' };

/** Reads these records, appended at `AT`, at a later time. */
function logOf(records: readonly unknown[], readMs = AT): RecallLog {
  const log = new RecallLog(86_400_000);
  for (const record of records) {
    log.onRecord({ value: Buffer.from(JSON.stringify(record)), timestampMs: AT }, readMs);
  }
  return log;
}
const openIn = (log: RecallLog, nowMs = AT) =>
  log.open(nowMs, PARTITIONS).map(({ recall }) => recall.id);

const SECOND = 1_000;
test.each<[string, unknown[], number, string[]]>([
  ['a request is open', [aRecall()], 0, ['rcl']],
  ['a request whose partitions are all searched is over', [aRecall(), searched], 0, []],
  [
    'a cancellation of all stands although all is searched',
    [aRecall({ action: 'cancel' }), searched],
    0,
    ['rcl'],
  ],
  ['it is over after its time', [aRecall({ action: 'cancel' }), searched], STANDS_MS, []],
  ['a stopped request is over', [aRecall(), stop], 0, []],
  ['a stop that comes before its request ends it, too', [stop, aRecall()], 0, []],
  [
    'a cancellation of one delivery stands longer',
    [aRecall({ action: 'cancel', ...ONE })],
    61 * SECOND,
    ['rcl'],
  ],
  [
    'a request for one delivery ends after a minute',
    [aRecall({ action: 'retry', ...ONE })],
    61 * SECOND,
    [],
  ],
  ['a recovery ends after five minutes', [aRecall({ action: 'recovered' })], 301 * SECOND, []],
  ['probes go on for a day', [aRecall({ action: 'probe' }), searched], 86_399 * SECOND, ['rcl']],
  ['stopped probes are over', [aRecall({ action: 'probe' }), stop], 0, []],
  [
    'probes that are asked for again after a stop go on',
    [aRecall({ action: 'probe' }), stop, aRecall({ action: 'probe' })],
    0,
    ['rcl'],
  ],
  ['a job waits for a day', [aRecall()], 86_399 * SECOND, ['rcl']],
])('%s', (_, records, afterMs, expected) =>
  expect(openIn(logOf(records), AT + afterMs)).toEqual(expected),
);

test('requests that were too old when they were read take no memory', () => {
  const log = logOf([aRecall({ action: 'recovered' })], AT + 301 * SECOND);
  // As old as the request itself, it would be open.
  expect(openIn(log, AT)).toEqual([]);
});

test('a job that was stopped stays stopped when the topic is read again hours later', () => {
  const log = logOf([aRecall({ action: 'cancel' }), stop], AT + 7_200 * SECOND);
  expect(openIn(log, AT + 7_200 * SECOND)).toEqual([]);
});

test('a request whose search is under way stays known for longer, so a stop reaches it', () => {
  const log = logOf([aRecall()]);
  const [known] = log.open(AT, PARTITIONS);
  known!.running = true;
  expect(openIn(log, AT + 90_000 * SECOND)).toEqual(['rcl']);
  log.onRecord(
    { value: Buffer.from(JSON.stringify(stop)), timestampMs: AT + 90_000 * SECOND },
    AT + 90_000 * SECOND,
  );
  expect(known!.stopped).toBe(true);
  known!.running = false;
  expect(openIn(log, AT + 90_000 * SECOND)).toEqual([]);
});

test.each<unknown>([
  null,
  'text',
  {},
  { kind: 'unknown', id: 'rcl' },
  { ...aRecall(), action: 'destroy' },
  { ...aRecall(), keys: 'dst:0' },
  { ...aRecall(), id: 7 },
  { ...aRecall(), where: { delivery: { id: 'dlv_1' } } },
  { ...aRecall(), where: { user: 7 } },
  { ...aRecall(), where: undefined },
  { kind: 'taken', recall: 'rcl', count: 1 },
  { kind: 'taken', recall: 'rcl', count: 1, steps: [1] },
  { kind: 'searched', recall: 'rcl', of: PARTITIONS },
  { kind: 'searched', recall: 'rcl', partitions: [0, '1'], of: PARTITIONS },
  { kind: 'stop' },
])('a malformed record is passed over: %j', (record) => {
  expect(openIn(logOf([record, aRecall({ id: 'next' })]))).toEqual(['next']);
});
