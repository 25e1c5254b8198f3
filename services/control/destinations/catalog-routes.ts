import { destinationJsonSchema } from './schema';
import { type HandlersOf } from '../http/mount';

/** /api/v1/catalog: the integrations there are, and what each can be set to. */
export function catalogHandlers(): HandlersOf<'catalog'> {
  const catalog = {
    data: [
      {
        type: 'webhooks',
        name: 'Webhooks',
        description: 'Sends each message as a signed HTTP POST to up to five URLs',
        settings: destinationJsonSchema(),
      },
    ],
    next: null,
  };
  return { 'GET /catalog': ({ res }) => void res.json(catalog) };
}
