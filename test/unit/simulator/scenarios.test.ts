import { SCENARIOS } from '../../../tools/simulator/catalog';
import { keeps } from '../../../tools/simulator/scenario';

/** Every scenario in its short form: the production code, in virtual time, keeps its promises. */

/** A scenario takes seconds, but of pure CPU, and the machine may be busy. */
const TIMEOUT_MS = 300_000;
const OPTIONS = { seed: 7, short: true, note: () => undefined };

test.each(SCENARIOS.map((scenario) => [scenario.name, scenario] as const))(
  '%s',
  async (_, scenario) => {
    const { findings } = await scenario.play(OPTIONS);
    expect(findings.filter((finding) => !keeps(finding))).toEqual([]);
    expect(findings.length).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);

test('each has a name of its own', () => {
  const names = SCENARIOS.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
});
