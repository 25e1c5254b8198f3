import { verifyWebhook, WebhookError } from '@waypost/node/webhook';
import fastify from 'fastify';

const { WEBHOOK_SECRET, PORT = '3000' } = process.env;
if (!WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET to the shared secret of the destination.');
// During a rotation: both secrets, separated by a comma.
const secret = WEBHOOK_SECRET.split(',');

/** Ids of handled events: a repeat has the same id. A real receiver stores them with its data. */
const seen = new Set();

const app = fastify();
// Read the raw body for every content type: the signature covers its bytes.
app.removeAllContentTypeParsers();
app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));

app.post('/hook', async (request, reply) => {
  const { id, event } = verifyWebhook({
    headers: request.headers,
    body: request.body ?? '',
    secret,
  });
  if (!seen.has(id)) {
    seen.add(id);
    console.log(`${event.type} of ${event.userId ?? event.anonymousId}`);
  }
  // Respond within five seconds, or Waypost sends it again. Do slow work afterwards.
  return reply.code(204).send();
});
app.setErrorHandler((error, _request, reply) => {
  if (error instanceof WebhookError) return reply.code(401).send({ code: error.code });
  return reply.send(error);
});
await app.listen({ port: Number(PORT), host: '127.0.0.1' });
console.log(`listening on http://127.0.0.1:${app.server.address().port}`);
