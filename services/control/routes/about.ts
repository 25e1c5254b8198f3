import { type ControlDeps } from '../deps';
import { type HandlersOf } from '../mount';

/** /api/v1/about: what clients need to know of this installation. */
export function aboutHandlers({ ingest }: Pick<ControlDeps, 'ingest'>): HandlersOf<'about'> {
  return { 'GET /about': ({ res }) => void res.json({ ingest }) };
}
