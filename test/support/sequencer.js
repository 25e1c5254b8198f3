const Sequencer = require('@jest/test-sequencer').default;

/**
 * Runs slow tests first, so that no worker is left with a minute of work while the other has none: the longest, then whole
 * systems, single services and libraries. Within a tier the order is Jest's (the slowest of the last run first, or the
 * larger file).
 */
const TIERS = ['e2e', 'integration', 'libraries', 'unit'];
/** Tests of a minute or more: on a machine that has not run them yet, Jest would sort them by file size. */
const LONGEST = ['e2e/crash', 'unit/kafka/group/group', 'e2e/console', 'e2e/chaos', 'e2e/rolling'];

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    const tier = (test) => TIERS.indexOf(test.context.config.displayName?.name);
    const long = (test) => (LONGEST.some((name) => test.path.endsWith(`/${name}.test.ts`)) ? 0 : 1);
    return super.sort(tests).sort((a, b) => long(a) - long(b) || tier(a) - tier(b));
  }
};
