import { type Mark, markedSteps, marksOf } from '../../../console/src/lib/marks';

/** Marks in charts. */

const at = (time: string) => `2026-01-01T${time}:00.000Z`;
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

  test('are the notices and changes of the time, in the order of the chart', () => {
    const found = marksOf(
      {
        notices: [notice('09:59'), notice('10:40'), notice('10:50', null)],
        // A test changes nothing.
        changes: [change('10:00'), change('10:45', null), change('11:00')],
      },
      { since: at('10:00'), until: at('11:00') },
    );
    expect(found.map(({ at: time, to }) => [time, to])).toEqual([
      [at('10:00'), '/audit?entry=dst_1'],
      [at('10:40'), '/notices?kind=failing&destination=dst_1'],
      [at('10:50'), '/notices?kind=failing'],
    ]);
  });

  test('of a recovery are none of trouble', () => {
    const recovered = { ...notice('10:40'), kind: 'recovered' as const };
    const found = marksOf(
      { notices: [notice('10:30'), recovered], changes: [] },
      { since: at('10:00'), until: undefined },
    );
    expect(found.map(({ kind }) => kind)).toEqual(['notice', 'recovery']);
  });

  test('stand at their steps: trouble before a recovery, and that before a change', () => {
    const mark = (time: string, kind: Mark['kind']) => ({ at: at(time), kind });
    const marks = [
      mark('10:31', 'change'),
      mark('10:40', 'notice'),
      mark('10:50', 'recovery'),
      mark('11:00', 'change'),
      mark('11:10', 'recovery'),
      mark('11:30', 'notice'),
    ];
    expect(markedSteps(marks, steps)).toEqual([
      { at: at('10:30'), kind: 'notice' },
      { at: at('11:00'), kind: 'recovery' },
    ]);
  });
});
