import * as fc from 'fast-check';
import { evidenceOf } from '../../../../services/control/health/attempt-evidence';
import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import { countsOf, CountSums } from '../../../../services/control/history/minute-counts';
import { parseEvents } from '../../../../services/control/history/parse-events';
import { type OpenRecord } from '../../../../shared/kafka/port';
import { START } from '../../../support/events';
import { type PlainSuccess } from '../../../../shared/model/attempt-rows';
import { eventOf, rowsOf, success } from '../../../support/successes';

const successes = fc.array(success, { minLength: 1, maxLength: 20 });
const record = (value: Buffer) => ({ value, timestampMs: START }) as unknown as OpenRecord;

/** Returns the rows of the history and the counts that these records lead to. */
function historyOf(values: readonly Buffer[]) {
  const rows = new Map<string, DeliveryRow>();
  const counts = new CountSums();
  for (const entry of values.flatMap((value) => parseEvents(record(value)))) {
    if (entry === undefined || entry.kind === 'circuit') throw new Error('unusable');
    const before = rows.get(entry.delivery);
    const after = applyEvent(before, entry);
    rows.set(entry.delivery, after);
    for (const count of countsOf(before, after)) counts.add(count);
  }
  return { rows, counts: new Set(counts.all()) };
}

const usable = (given: PlainSuccess[]) =>
  given.filter(({ delivery }) => delivery.messageId.length <= 256);

test('the history and its counts are the same from rows as from single records', () => {
  fc.assert(
    fc.property(successes.map(usable), (given) => {
      const singles = given.map((each) => Buffer.from(JSON.stringify(eventOf(each))));
      expect(historyOf(given.length > 0 ? [rowsOf(given)] : [])).toEqual(historyOf(singles));
    }),
  );
});

function successesIn(value: Buffer) {
  return evidenceOf(value).map((evidence) => {
    if (evidence.kind !== 'ok') throw new Error(`${evidence.kind} is no success`);
    return evidence;
  });
}

test('the health of destinations is the same from rows as from single records', () => {
  fc.assert(
    fc.property(successes, (given) => {
      const last = new Map<string, number>();
      for (const each of given) {
        for (const { destination, at } of successesIn(Buffer.from(JSON.stringify(eventOf(each))))) {
          last.set(destination, Math.max(at, last.get(destination) ?? 0));
        }
      }
      const evidence = successesIn(rowsOf(given));
      expect(new Map(evidence.map(({ destination, at }) => [destination, at]))).toEqual(last);
    }),
  );
});

test('a row that cannot be used is left out, and the others of its record are used', () => {
  const [one, two] = fc.sample(success, { numRuns: 2, seed: 7 });
  if (!one || !two) throw new Error('no sample');
  const bad = { ...one, delivery: { ...one.delivery, messageId: 'x'.repeat(257) } };
  const good = { ...two, delivery: { ...two.delivery, messageId: 'm' } };
  expect(parseEvents(record(rowsOf([bad, good])))).toEqual([undefined, eventOf(good)]);
});
