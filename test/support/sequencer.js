const { basename } = require('node:path');
const Sequencer = require('@jest/test-sequencer').default;

/**
 * Runs slow tests first, so that no worker is left with a minute of work while the other has none: whole systems, then
 * single services, then libraries. Within a tier the order is Jest's (the slowest of the last run first, or the larger file).
 */
const TIERS = ['e2e', 'integration', 'libraries', 'unit'];
/** Tests of a minute or more: on a machine that has not run them yet, Jest would sort them by file size. */
const LONGEST = ['crash', 'chaos', 'rolling', 'console'];

module.exports = class SlowestFirst extends Sequencer {
  sort(tests) {
    const tier = (test) => TIERS.indexOf(test.context.config.displayName?.name);
    const long = (test) => (LONGEST.includes(basename(test.path, '.test.ts')) && tier(test) === 0 ? 0 : 1);
    return super.sort(tests).sort((a, b) => tier(a) - tier(b) || long(a) - long(b));
  }
};
