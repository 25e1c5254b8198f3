// The Node client: main.cjs <endpoint> <write key> <user>
const process = require('node:process');
const { Analytics } = require('@segment/analytics-node');

const [, , host, writeKey, userId] = process.argv;
const analytics = new Analytics({ writeKey, host, flushAt: 4, maxRetries: 0 });
const errors = [];
analytics.on('error', (error) => errors.push(error));

analytics.identify({ userId, traits: { plan: 'pro' } });
analytics.track({ userId, event: 'Order Completed', properties: { total: 9.5, name: 'Zoë' } });
analytics.page({ userId, category: 'Docs', name: 'Start', properties: { path: '/' } });
analytics.screen({ userId, name: 'Home', properties: { dark: true } });
analytics.group({ userId, groupId: 'group-1', traits: { seats: 3 } });
analytics.alias({ userId, previousId: `${userId}-before` });
analytics.track({ userId, event: 'integrations absent' });
analytics.track({ userId, event: 'All false', integrations: { All: false } });
analytics.track({
  userId,
  event: 'All false, Webhooks true',
  integrations: { All: false, Webhooks: true },
});
analytics.track({ userId, event: 'Webhooks false', integrations: { Webhooks: false } });

analytics.closeAndFlush({ timeout: 20_000 }).then(() => {
  for (const error of errors) process.stderr.write(`${JSON.stringify(error)}\n`);
  process.exitCode = errors.length === 0 ? 0 : 1;
});
