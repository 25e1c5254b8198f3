import fc from 'fast-check';
import { StallClock } from '../../../services/delivery/stall-clock';

/** A clock that beat at these real times, in ms since it was made. */
function after(...beats: number[]): StallClock {
  const clock = new StallClock(0);
  for (const beat of beats) clock.beat(beat);
  return clock;
}

describe('the time that a process was there', () => {
  test.each<[string, number[], number, number]>([
    ['is the real one while it beats', [100, 200, 300], 350, 350],
    ['also where the loop is busy, or deadlines would not be kept', [400, 800, 1_250], 1_700, 1_700],
    ['hardly counts a standstill', [100, 8_100], 8_150, 650],
    ['nor one that is only about to be noticed', [100], 8_100, 600],
  ])('%s', (_, beats, realNow, expected) => {
    expect(after(...beats).now(realNow)).toBe(expected);
  });

  test.each<[string, number[], number, number, boolean]>([
    ['no standstill', [100, 200], 0, 300, false],
    ['one while it was under way', [100, 8_100, 8_200], 50, 8_250, true],
    ['one that is only about to be noticed', [100], 50, 8_100, true],
    ['one that was over just before it began', [100, 8_100, 8_200], 300, 8_300, true],
    ['one that was over long before', [100, 8_100, 8_500, 8_900, 9_300], 1_700, 9_400, false],
  ])('what began at a time met %s', (_, beats, began, realNow, expected) => {
    expect(after(...beats).stoodStillSince(began, realNow)).toBe(expected);
  });

  test('never goes back, and never runs ahead', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ ms: fc.nat(3_000), beat: fc.boolean() })), (steps) => {
        const clock = new StallClock(0);
        let [real, before] = [0, 0];
        for (const { ms, beat } of steps) {
          real += ms;
          if (beat) clock.beat(real);
          const now = clock.now(real);
          expect(now).toBeGreaterThanOrEqual(before);
          expect(now).toBeLessThanOrEqual(real);
          before = now;
        }
      }),
    );
  });
});
