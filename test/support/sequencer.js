const Sequencer = require('@jest/test-sequencer').default;

/**
 * Runs slow tests first, so that no worker is left with a minute of work while the others have
 * none: the longest, then whole systems, single services and libraries. Within a tier the order is
 * Jest's (the slowest of the last run first, or the larger file). Unit tests come last, because
 * they compute, and the others would have to wait for the processor.
 */
const TIERS = ['e2e', 'integration', 'libraries', 'unit'];
/**
 * Tests of a minute or more, in their order: those that keep the processor busy alternate with
 * those that wait. On a machine that has not run them yet, Jest would sort them by file size.
 */
const LONGEST = [
  'e2e/crash',
  'integration/log-cut',
  'e2e/stories-recall',
  'integration/audiences',
  'integration/restore-drill',
  'integration/ledger',
  'e2e/rolling',
  'integration/control-pair',
  'integration/local-system',
  'e2e/chaos',
  'integration/local-supervisor',
  'integration/poison',
  'integration/broker-outage',
  'e2e/stories-routing',
];

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    const tier = (test) => TIERS.indexOf(test.context.config.displayName?.name);
    const place = (test) => LONGEST.findIndex((name) => test.path.endsWith(`/${name}.test.ts`));
    const long = (test) => (place(test) < 0 ? LONGEST.length : place(test));
    return super.sort(tests).sort((a, b) => long(a) - long(b) || tier(a) - tier(b));
  }
};
