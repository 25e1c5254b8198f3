import {
  endsShown,
  histogramSpan,
  stepsWithin,
} from '../../../console/src/deliveries/histogram-span';
import { markedSteps, marksOf } from '../../../console/src/lib/marks';

/** Marks in charts, and the histogram above a list of deliveries. */

const at = (time: string) => `2026-01-01T${time}:00.000Z`;
const NOW = Date.parse(at('12:00'));
const steps = [
  { at: at('10:00'), until: at('10:30') },
  { at: at('10:30'), until: at('11:00') },
  { at: at('11:00'), until: at('11:30') },
];

describe('marks', () => {
  const notice = (time: string, destination: string | null = 'dst_1') => ({
    at: at(time),
    kind: 'failing' as const,
    name: 'Acme',
    destination,
  });
  const change = (time: string, version: number | null = 2) => ({
    at: at(time),
    action: 'changed' as const,
    name: 'Acme',
    entry: 'dst_1',
    version,
  });

  test('are the notices and changes of the time, the newest first', () => {
    const found = marksOf(
      {
        notices: [notice('09:59'), notice('10:40'), notice('10:50', null)],
        // A test changes nothing.
        changes: [change('10:00'), change('10:45', null), change('11:00')],
      },
      { since: at('10:00'), until: at('11:00') },
    );
    expect(found.map(({ at: time, to }) => [time, to])).toEqual([
      [at('10:50'), '/notices?kind=failing'],
      [at('10:40'), '/notices?kind=failing&destination=dst_1'],
      [at('10:00'), '/audit?entry=dst_1'],
    ]);
  });

  test('stand at their steps, and a notice before a change', () => {
    const mark = (time: string, kind: 'notice' | 'change') => ({ at: at(time), kind });
    const marks = [
      mark('10:31', 'change'),
      mark('10:40', 'notice'),
      mark('11:00', 'change'),
      mark('11:30', 'notice'),
    ];
    expect(markedSteps(marks, steps)).toEqual([
      { at: at('10:30'), kind: 'notice' },
      { at: at('11:00'), kind: 'change' },
    ]);
  });
});

describe('the histogram of a list', () => {
  test.each([
    ['', ['delivered', 'dead', 'cancelled']],
    ['destination=dst_1&since=1h', ['delivered', 'dead', 'cancelled']],
    [`status=dead&counted=true&endedSince=${at('10:00')}`, ['dead']],
    ['status=partly_delivered', ['partlyDelivered']],
    // What is under way has not ended, and no count follows these filters.
    ['status=pending', []],
    ['user=u-1', []],
    ['q=A-17', []],
    ['status=dead&code=5xx', []],
  ])('with the filters "%s" counts %j', (filters, ends) => {
    expect(endsShown(filters)).toEqual(ends);
  });

  const none = { since: '', until: '', endedSince: '', endedUntil: '' };
  test.each([
    ['a day', none, '2025-12-31T12:00:00.000Z', undefined],
    ['the time of the list', { ...none, since: '1h' }, at('11:00'), undefined],
    ['two times', { ...none, since: at('08:00'), until: at('09:00') }, at('08:00'), at('09:00')],
    [
      'what was chosen stays in it',
      { ...none, since: '1h', endedSince: at('09:00'), endedUntil: at('10:00') },
      at('09:00'),
      undefined,
    ],
    ['no time', { ...none, since: 'soon', until: 'late' }, at('12:00'), undefined],
  ])('shows %s', (_, times, since, until) => {
    expect(histogramSpan(times, NOW)).toEqual({ since, until });
  });

  test.each([
    ['10:00', '11:00', { x1: at('10:00'), x2: at('10:30') }],
    ['10:40', '', { x1: at('10:30'), x2: at('11:00') }],
    ['12:00', '13:00', undefined],
    ['', '11:00', undefined],
  ])('marks the steps from %s to %s', (since, until, marked) => {
    const time = (text: string) => (text === '' ? '' : at(text));
    expect(stepsWithin(steps, { since: time(since), until: time(until) })).toEqual(marked);
  });
});
