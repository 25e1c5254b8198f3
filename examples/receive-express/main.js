import { verifyWebhook, WebhookError } from '@waypost/node/webhook';
import express from 'express';

const { WEBHOOK_SECRET, PORT = '3000' } = process.env;
if (!WEBHOOK_SECRET) throw new Error('Set WEBHOOK_SECRET to the shared secret of the destination.');
// In a rotation: both secrets, by a comma.
const secret = WEBHOOK_SECRET.split(',');

/** Ids of what was handled: a repeat carries the same one. A real receiver keeps them where it keeps its data. */
const seen = new Set();

const app = express();
// The raw body, whatever its type: the signature covers its bytes.
app.post('/hook', express.raw({ type: () => true, limit: '1mb' }), (request, response) => {
  const { id, event } = verifyWebhook({ headers: request.headers, body: request.body ?? '', secret });
  if (!seen.has(id)) {
    seen.add(id);
    console.log(`${event.type} of ${event.userId ?? event.anonymousId}`);
  }
  // Within five seconds, or it is sent again: what takes longer is done afterwards.
  response.sendStatus(204);
});
app.use((error, _request, response, next) => {
  if (!(error instanceof WebhookError)) return next(error);
  response.status(401).json({ code: error.code });
});
const server = app.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
