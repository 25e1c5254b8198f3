/** Makes a call of each type, and events with and without integrations. @returns their number */
module.exports = (analytics, userId) => {
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
  return 10;
};
