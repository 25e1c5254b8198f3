import { FAULTS, ON_TIME, rowOf } from '../../../tools/docs/clocks';

/**
 * How late a retry of a minute is when clocks are wrong. docs/reference/clocks.md has the tables.
 */

const LATE = /^(on time|\d+ s late)$/;
const EARLY = /^\d+ s early$/;

test.each(FAULTS.onTime)('when %s, an attempt is neither early nor late', (...fault) => {
  expect(rowOf(fault)).toEqual([fault[0], ON_TIME, ON_TIME, ON_TIME]);
});

test.each(FAULTS.neverEarly)('when %s, an attempt may be late, and is never early', (...fault) => {
  for (const moment of rowOf(fault).slice(1)) expect(moment).toMatch(LATE);
});

test.each(FAULTS.neverLost)('when %s, an attempt is not lost', (...fault) => {
  for (const moment of rowOf(fault).slice(1)) {
    expect(EARLY.test(moment) || LATE.test(moment)).toBe(true);
  }
});
