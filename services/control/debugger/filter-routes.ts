import { type ControlContext } from '../context';
import { readTrial, tryFilter } from './filters';
import { type HandlersOf } from '../http/mount';

/** /api/v1/filters */
export function filterHandlers(deps: ControlContext): HandlersOf<'filters'> {
  return {
    'POST /filters/try': ({ body, res }) => {
      const { filter, sources, limit } = readTrial(body);
      res.json(tried(deps, { filter, sources, limit }));
    },
  };
}

/** Tries a filter on the newest events of these sources, or of all. */
export function tried(
  { events }: Pick<ControlContext, 'events'>,
  { filter, sources, limit }: { filter: string; sources: readonly string[] | undefined; limit: number },
) {
  const found = (sources ?? [undefined]).flatMap((source) => events.ring.newest({ source, accepted: true }, { limit }));
  const entries = found.sort((a, b) => b.order - a.order).slice(0, limit);
  return tryFilter({ filter, entries, clock: () => performance.now() });
}
