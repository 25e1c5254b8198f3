// The Node client: main.cjs <endpoint> <write key> <user>
const process = require('node:process');
const { Analytics } = require('@segment/analytics-node');
const everyType = require('../every-type.cjs');

const [, , host, writeKey, userId] = process.argv;
const analytics = new Analytics({ writeKey, host, flushAt: 4, maxRetries: 0 });
const errors = [];
analytics.on('error', (error) => errors.push(error));

everyType(analytics, userId);
analytics.closeAndFlush({ timeout: 20_000 }).then(() => {
  for (const error of errors) process.stderr.write(`${JSON.stringify(error)}\n`);
  process.exitCode = errors.length === 0 ? 0 : 1;
});
