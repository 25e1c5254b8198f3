import { verifyWebhook, WebhookError } from '@waypost/node/webhook';
import express from 'express';

const { WEBHOOK_SECRET, PORT = '3000' } = process.env;
if (!WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET to the shared secret of the destination.');
// During a rotation: both secrets, separated by a comma.
const secret = WEBHOOK_SECRET.split(',');

/** Ids of handled events: a repeat has the same id. A real receiver stores them with its data. */
const seen = new Set();

const app = express();
// Read the raw body for every content type: the signature covers its bytes.
app.post('/hook', express.raw({ type: () => true, limit: '1mb' }), (request, response) => {
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
  response.sendStatus(204);
});
app.use((error, _request, response, next) => {
  if (!(error instanceof WebhookError)) return next(error);
  response.status(401).json({ code: error.code });
});
const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
