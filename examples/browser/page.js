import { Analytics } from '@waypost/node';

const { writeKey, endpoint } = await (await fetch('/settings.json')).json();

// Who this is, as long as nobody has signed in.
const anonymousId = localStorage.getItem('anonymousId') ?? crypto.randomUUID();
localStorage.setItem('anonymousId', anonymousId);

const said = document.getElementById('said');
const analytics = new Analytics({
  writeKey,
  endpoint,
  // A page's address can hold what is nobody's business.
  beforeSend: (message) => ({ ...message, context: { ...message.context, page: { path: location.pathname } } }),
  onDelivered: (messages) => (said.textContent = `${messages.map(({ type }) => type).join(', ')} delivered`),
  onFailed: (messages, failure) => (said.textContent = `${messages.length} failed: ${failure.message}`),
});

analytics.page({ anonymousId, name: document.title, properties: { path: location.pathname } });
document.getElementById('buy').addEventListener('click', () => {
  // It waits for others, and is sent at the latest when the page is left.
  analytics.track({ anonymousId, event: 'Order Completed', properties: { total: 42 } });
});
