import { Analytics } from '@waypost/node';

const { WRITE_KEY, ENDPOINT = 'http://localhost:8080', USER_ID = 'u1' } = process.env;
if (!WRITE_KEY) throw new Error('Set WRITE_KEY to the write key of a source.');

const analytics = new Analytics({
  writeKey: WRITE_KEY,
  endpoint: ENDPOINT,
  onDelivered: (messages) => console.log(`${messages.length} calls delivered`),
  onFailed: (messages, failure) =>
    console.error(`${messages.length} calls failed: ${failure.message}`),
});

analytics.identify({ userId: USER_ID, traits: { plan: 'pro' } });
analytics.track({
  userId: USER_ID,
  event: 'Order Completed',
  properties: { total: 9.5, name: 'Zoë' },
});
analytics.page({ userId: USER_ID, category: 'Docs', name: 'Start', properties: { path: '/' } });
analytics.screen({ userId: USER_ID, name: 'Home', properties: { dark: true } });
analytics.group({ userId: USER_ID, groupId: 'group-1', traits: { seats: 3 } });
analytics.alias({ userId: USER_ID, previousId: `${USER_ID}-before` });

// Sends the queued calls; a server does this on shutdown.
const undelivered = await analytics.close();
process.exitCode = undelivered === 0 ? 0 : 1;
