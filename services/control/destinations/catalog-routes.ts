import { destinationJsonSchema } from './schema';
import { type HandlersOf } from '../http/mount';

/** /api/v1/catalog: the available integrations and the settings of each. */
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
