import { turnCircuits } from '../../../../services/control/history/circuits';
import { type CircuitEvent } from '../../../../shared/model/attempt-events';
import { isoTime } from '../../../../shared/model/time';

function change(state: CircuitEvent['state'], atMs: number): CircuitEvent {
  return {
    kind: 'circuit',
    destination: 'dst',
    url: 'whk',
    origin: 'https://a.example',
    destinationVersion: 1,
    state,
    why: state === 'open' ? 'failed' : 'ok',
    at: isoTime(atMs),
  };
}

test.each<[string, CircuitEvent[]]>([
  ['in their order', [change('open', 1_000), change('closed', 2_000)]],
  [
    'after the process that wrote the older one stood still',
    [change('closed', 2_000), change('open', 1_000)],
  ],
])('of two changes in a batch the newest counts, %s', async (_, events) => {
  const rows: { state: string }[] = [];
  await turnCircuits(
    {
      kind: 'embedded',
      query: (_sql, params = []) => {
        const [json] = params;
        if (typeof json === 'string') rows.push(...(JSON.parse(json) as { state: string }[]));
        return Promise.resolve([]);
      },
    },
    events,
  );
  expect(rows.map(({ state }) => state)).toEqual(['closed']);
});
