const Sequencer = require('@jest/test-sequencer').default;

/**
 * Runs tests that start processes in the order of their length, so that no worker is left with a
 * minute of work while the others have none, and spreads the unit tests among them: those compute,
 * and the others mostly wait.
 */

/**
 * Tests of a minute or more, in their order: those that keep the processor busy alternate with
 * those that wait. On a machine that has not run them yet, Jest would sort them by file size.
 */
const LONGEST = [
  'e2e/console',
  'e2e/crash',
  'e2e/stories-recall',
  'e2e/console-fits',
  'integration/ledger',
  'integration/local-system',
  'integration/control-pair',
  'integration/log-cut',
  'integration/three-brokers',
  'e2e/chaos',
  'integration/poison',
  'e2e/rolling',
  'integration/audiences',
  'integration/restore-drill',
  'e2e/stories-receivers',
  'integration/history-bounded',
  'libraries/go',
  'e2e/clients',
  'integration/kafka-security',
  'e2e/support',
  'integration/local-supervisor',
];
/** Those of whole systems are longer than those of single services and of libraries. */
const TIERS = ['e2e', 'integration', 'libraries'];

const tierOf = (test) => TIERS.indexOf(test.context.config.displayName?.name);
const placeOf = (test) => {
  const place = LONGEST.findIndex((name) => test.path.endsWith(`/${name}.test.ts`));
  return place < 0 ? LONGEST.length : place;
};

module.exports = class LongestFirst extends Sequencer {
  sort(tests) {
    // In Jest's order: the slowest of the last run first, or the larger file.
    const sorted = super.sort(tests);
    const units = sorted.filter((test) => tierOf(test) < 0);
    const others = sorted
      .filter((test) => tierOf(test) >= 0)
      .sort((a, b) => placeOf(a) - placeOf(b) || tierOf(a) - tierOf(b));
    if (others.length === 0) return units;
    const before = (i) => Math.round((i * units.length) / others.length);
    return others.flatMap((test, i) => [test, ...units.slice(before(i), before(i + 1))]);
  }
};
