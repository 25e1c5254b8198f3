import { Definitions, ofTrait } from '../../../services/audiences/definitions/compile';
import { type Report, reportOf, statusRecords } from '../../../services/audiences/status';
import { NEW_PARTITION_STATE } from '../../../services/audiences/profiles/partition-state';
import { A_DEFINITION } from '../../support/profiles';

const NOW = 1_700_000_000_000;
const trait = ofTrait({ ...A_DEFINITION, id: 'trt_known', compute: 'count', event: 'Buy' });
const definition: Report['definitions'][string] = {
  revision: 1,
  phase: 'live',
  members: 2,
  told: 2,
  waiting: 0,
  counted: 3,
  upload: 0,
  lastSync: null,
};

test('a deleted definition leaves no status, whoever has reported it', () => {
  const report: Report = {
    profiles: 3,
    full: 0,
    storeBytes: 100,
    waiting: 0,
    partitions: 8,
    term: 1,
    definitions: { trt_known: definition, trt_deleted: { ...definition, phase: 'leaving' } },
  };
  const records = statusRecords(5, report, new Definitions([trait]), NOW);
  expect(records).toMatchObject([
    { key: 'trt_known/5', value: expect.stringContaining('"members":2') },
    { key: 'trt_deleted/5', value: null },
  ]);
});

test('what waits for Kafka is counted for the definition that it is of', () => {
  const state = { revision: 1, phase: 'live' as const, upload: 0, since: 0 };
  const meta = {
    ...NEW_PARTITION_STATE,
    defs: { trt_a: { ...state, told: 3 }, trt_b: { ...state, told: 2 } },
    told: 5,
    sent: 2,
  };
  const waiting = (sequence: number, of: string) => ({ sequence, user: 'kim', definition: of });
  const all = [1, 2, 3, 4, 5].map((at) => waiting(at, at === 3 || at === 5 ? 'trt_b' : 'trt_a'));
  const store = {
    size: 3,
    full: 0,
    bytes: 100,
    unsent: (after: number) => all.filter(({ sequence }) => sequence > after),
    memberCount: () => 2,
  };
  expect(reportOf(meta, store, new Map())).toMatchObject({
    waiting: 3,
    definitions: { trt_a: { told: 3, waiting: 1 }, trt_b: { told: 2, waiting: 2 } },
  });
});
