import { type HandlersOf } from './mount';
import { openApi } from './openapi';

/** /api/v1/openapi.json: public, since it is the same for all clients and contains no secret. */
export function openApiHandlers(): HandlersOf<'openapi.json'> {
  const text = JSON.stringify(openApi());
  return { 'GET /openapi.json': ({ res }) => void res.type('json').send(text) };
}
