import { reportCostlyFilters } from '../../../services/router/costly-filters';
import { filterDigest } from '../../../shared/model/attempt-events';
import { recordingProducer } from '../../support/fakes';
import { aDestination } from '../../support/factories';

const AT = Date.parse('2026-01-01T00:00:00.000Z');
const work = { units: 1_500, limit: 2_000 };

test('a costly filter is told once in ten minutes, and again after it was changed', () => {
  const producer = recordingProducer();
  const tell = reportCostlyFilters(producer, () => AT);
  for (const filter of ['a', 'a', 'b']) tell(aDestination({ filter }), work);
  expect(producer.values('attempts')).toEqual(
    ['a', 'b'].map((filter) => ({
      kind: 'filter',
      destination: 'dst_1',
      filter: filterDigest(filter),
      units: 1_500,
      limit: 2_000,
      at: '2026-01-01T00:00:00.000Z',
    })),
  );
  expect(JSON.stringify(producer.values('attempts'))).not.toContain('"a"');
});
