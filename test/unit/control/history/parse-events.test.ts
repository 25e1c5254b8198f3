import { parseEvents } from '../../../../services/control/history/parse-events';
import { anEvent, START } from '../../../support/events';

test.each([
  ['no value', null],
  ['no JSON', '{'],
  ['no event', '{"kind":"other","destination":"d","at":"2026-01-01T00:00:00.000Z"}'],
  ['no delivery', JSON.stringify({ ...anEvent(), delivery: undefined })],
  ['no time', JSON.stringify(anEvent({ acceptedAt: 'yesterday' }))],
  ['null', 'null'],
  ['an id of 20 KB', JSON.stringify(anEvent({ destination: 'd'.repeat(20_000) }))],
  ['a time in the year 9999', JSON.stringify(anEvent({ acceptedAt: '9999-12-31T00:00:00.000Z' }))],
])('a record with %s has an event that cannot be used', (_, text) => {
  const value = text === null ? null : Buffer.from(text);
  expect(parseEvents({ value, timestampMs: START })).toEqual([undefined]);
});
