import {
  type Figures,
  listDestinations,
} from '../../../../services/control/destinations/list-destinations';
import { SharedAnswers } from '../../../../services/control/overview/shared-answers';

/** What a sorted list reads from the history. */

let statements: string[];
const database = {
  query: (sql: string) => {
    statements.push(sql);
    return Promise.resolve([]);
  },
};
const entries = [1, 2, 3].map((n) => ({
  data: { id: `dst_${String(n)}`, name: `Name ${String(n)}`, webhooks: [], enabled: true },
}));

function list(query: object, figures: SharedAnswers<Figures>) {
  const deps = {
    entries: { list: () => entries },
    history: { ask: (work: (from: object) => unknown) => work(database) },
    now: () => new Date(0),
    figures,
  };
  return listDestinations(deps as never, { limit: 1, ...query }, ({ data }) => data.id);
}
beforeEach(() => (statements = []));

test('pages and readers of a short time share one reading', async () => {
  const figures = new SharedAnswers<Figures>(2_000, () => 0);
  const first = await list({ sort: '-dead' }, figures);
  const { length } = statements;
  expect(length).toBeGreaterThan(0);
  await list({ sort: '-dead', after: first.next }, figures);
  await list({ sort: 'waiting', q: 'name' }, figures);
  await list({ state: 'idle' }, figures);
  expect(statements).toHaveLength(length);
});

test('a list by the last delivery reads no counts and no deliveries', async () => {
  await list({ sort: '-lastDelivery' }, new SharedAnswers<Figures>(2_000, () => 0));
  expect(statements).toEqual([expect.stringContaining('waypost.health')]);
});

test('a list by name asks the history nothing', async () => {
  await list({ sort: 'name' }, new SharedAnswers<Figures>(2_000, () => 0));
  expect(statements).toEqual([]);
});
