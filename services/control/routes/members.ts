import { Router } from 'express';
import { methodNotAllowed, Problem } from '../../../shared/http/problem';
import { actorOf } from '../access/authenticate';
import { type ControlDeps } from '../deps';
import { upload, withUpload } from '../members';
import { showMembers } from './profiles';

/** The members of audiences and computed traits. Uploads are bodies without end, so before those that are read whole. */
export function memberRoutes(deps: ControlDeps): Router {
  const { entries, kafka, appender, profiles, now, log } = deps;
  const router = Router();
  /** audiences with an upload under way: a second one would be mixed with it */
  const busy = new Set<string>();
  router
    .route('/audiences/:id/members')
    .get(showMembers(deps, 'audience'))
    .put((req, res) => take(req.params.id, true, req, res))
    .patch((req, res) => take(req.params.id, false, req, res))
    .all(methodNotAllowed(['GET', 'HEAD', 'PUT', 'PATCH']));
  router
    .route('/computed-traits/:id/members')
    .get(showMembers(deps, 'computed_trait'))
    .all(methodNotAllowed(['GET', 'HEAD']));
  return router;

  async function take(
    id: string,
    full: boolean,
    body: AsyncIterable<Buffer>,
    res: Parameters<typeof actorOf>[0],
  ): Promise<void> {
    const { data } = entries.get('audience', id);
    if (data.condition !== undefined) {
      throw new Problem('conflict', 'The members of this audience follow from its condition; make one without');
    }
    if (busy.has(id))
      throw new Problem('conflict', 'Members of this audience are being uploaded; try again when that ends');
    busy.add(id);
    try {
      const number = Math.max(now().getTime(), (data.uploads?.at(-1)?.number ?? 0) + 1);
      const { upload: added, lines } = await upload({ kafka, appender, audience: id, number, full }, body);
      const at = { id, ifMatch: undefined, by: actorOf(res) };
      const taken = profiles.of(id, data.revision).upload;
      await entries.change('audience', at, (audience) => withUpload(audience, added, taken));
      log.info({ audience: id, full, lines }, 'members.uploaded');
      res.status(202).json({ upload: number, lines });
    } finally {
      busy.delete(id);
    }
  }
}
