const Sequencer = require('@jest/test-sequencer').default;

/**
 * The slow ones first, so that no worker is left with a minute of work while the other has none: whole systems, then single
 * services, then libraries. Within a tier the order is Jest's own (what took long last time, or the larger file).
 */
const TIERS = ['e2e', 'integration', 'libraries', 'unit'];

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    const tier = (test) => TIERS.indexOf(test.context.config.displayName?.name);
    return super.sort(tests).sort((a, b) => tier(a) - tier(b));
  }
};
