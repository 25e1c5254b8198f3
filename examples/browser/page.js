import { Analytics } from '@waypost/node';

const { writeKey, endpoint } = await (await fetch('/settings.json')).json();

// Identifies the visitor until they sign in.
const anonymousId = localStorage.getItem('anonymousId') ?? crypto.randomUUID();
localStorage.setItem('anonymousId', anonymousId);

const said = document.getElementById('said');
const analytics = new Analytics({
  writeKey,
  endpoint,
  // The query of a page's address can hold private data.
  beforeSend: (message) => ({
    ...message,
    context: { ...message.context, page: { path: location.pathname } },
  }),
  onDelivered: (messages) =>
    (said.textContent = `${messages.map(({ type }) => type).join(', ')} delivered`),
  onFailed: (messages, failure) =>
    (said.textContent = `${messages.length} failed: ${failure.message}`),
});

analytics.page({ anonymousId, name: document.title, properties: { path: location.pathname } });
document.getElementById('buy').addEventListener('click', () => {
  // The client queues the call and sends it, at the latest, when the visitor leaves the page.
  analytics.track({ anonymousId, event: 'Order Completed', properties: { total: 42 } });
});
