import { Router } from 'express';
import { methodNotAllowed } from '../../../shared/http/problem';
import { type ControlDeps } from '../deps';
import { listJobs } from '../history/replays';
import { newId } from '../ids';
import { decodeCursor, encodeCursor, pageParameters, parseQuery } from '../query';
import { jobView } from '../replays/job';
import { readReplay } from '../replays/scope';

/** /api/v1/replays */
export function replayRoutes({ replays, history, config, now }: ControlDeps): Router {
  const router = Router();
  const posted = methodNotAllowed(['POST']);
  router
    .route('/')
    .get(async (req, res) => {
      const { limit, after } = parseQuery(pageParameters, req.query);
      const page = { limit: limit + 1, after: decodeCursor(after) };
      const found = await history.ask((database) => listJobs(database, page));
      const jobs = found.slice(0, limit);
      const last = jobs.at(-1);
      const next = found.length > limit && last ? encodeCursor(last.createdAt, last.id) : null;
      res.json({ data: jobs.map(jobView), next });
    })
    .post(async (req, res) => {
      const at = now();
      const job = await replays.start(readReplay(req.body, config, at), newId('rpl', at));
      res.status(202).location(`${req.baseUrl}/${job.id}`).json(jobView(job));
    })
    .all(methodNotAllowed(['GET', 'HEAD', 'POST']));
  router
    .route('/:id')
    .get(async (req, res) => void res.json(jobView(await replays.get(req.params.id))))
    .all(methodNotAllowed(['GET', 'HEAD']));
  router
    .route('/:id/cancel')
    .post(async (req, res) => void res.json(jobView(await replays.cancel(req.params.id))))
    .all(posted);
  router
    .route('/:id/resume')
    .post(async (req, res) => void res.json(jobView(await replays.resume(req.params.id))))
    .all(posted);
  return router;
}
