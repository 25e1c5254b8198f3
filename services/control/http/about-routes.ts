import { type ControlContext } from '../context';
import { type HandlersOf } from './mount';

/** /api/v1/about: what clients need to know about this installation. */
export function aboutHandlers({ ingest }: Pick<ControlContext, 'ingest'>): HandlersOf<'about'> {
  return { 'GET /about': ({ res }) => void res.json({ ingest }) };
}
