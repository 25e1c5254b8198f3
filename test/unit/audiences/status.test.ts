import { Definitions, ofTrait } from '../../../services/audiences/definitions/compile';
import { type Report, statusRecords } from '../../../services/audiences/status';
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
