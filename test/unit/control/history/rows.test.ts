import * as fc from 'fast-check';
import { evidenceOf } from '../../../../services/control/alerts/evidence';
import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import { countsOf, sumCounts } from '../../../../services/control/history/minute-counts';
import { parseEvents } from '../../../../services/control/history/parse-events';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { START } from '../../../support/events';
import { eventOf, rowsOf, success } from '../../../support/successes';

const successes = fc.array(success, { minLength: 1, maxLength: 20 });
const record = (value: Buffer) => ({ value, timestampMs: START }) as unknown as OpenRecord;

/** Returns the rows of the history and the counts that these records lead to. */
function historyOf(values: readonly Buffer[]) {
  const rows = new Map<string, DeliveryRow>();
  const counts = values
    .flatMap((value) => parseEvents(record(value)))
    .flatMap((event) => {
      if (event === undefined || event.kind === 'circuit') throw new Error('unusable');
      const before = rows.get(event.delivery);
      const after = applyEvent(before, event);
      rows.set(event.delivery, after);
      return countsOf(before, after);
    });
  return { rows, counts: sumCounts(counts) };
}

it('the history and its counts are the same from rows as from single records', () => {
  fc.assert(
    fc.property(successes, (given) => {
      const usable = given.filter(({ delivery }) => delivery.messageId.length <= 256);
      const singles = usable.map((each) => Buffer.from(JSON.stringify(eventOf(each))));
      expect(historyOf(usable.length > 0 ? [rowsOf(usable)] : [])).toEqual(historyOf(singles));
    }),
  );
});

it('the health of destinations is the same from rows as from single records', () => {
  fc.assert(
    fc.property(successes, (given) => {
      const last = new Map<string, number>();
      for (const each of given) {
        for (const { destination, at } of evidenceOf(Buffer.from(JSON.stringify(eventOf(each))))) {
          last.set(destination, Math.max(at, last.get(destination) ?? 0));
        }
      }
      const evidence = evidenceOf(rowsOf(given));
      expect(new Map(evidence.map(({ destination, at }) => [destination, at]))).toEqual(last);
      expect(new Set(evidence.map(({ kind }) => kind))).toEqual(new Set(['ok']));
    }),
  );
});

it('a row that cannot be used is left out, and the others of its record are used', () => {
  const [one, two] = fc.sample(success, { numRuns: 2, seed: 7 });
  if (!one || !two) throw new Error('no sample');
  const bad = { ...one, delivery: { ...one.delivery, messageId: 'x'.repeat(257) } };
  const good = { ...two, delivery: { ...two.delivery, messageId: 'm' } };
  expect(parseEvents(record(rowsOf([bad, good])))).toEqual([undefined, eventOf(good)]);
});
