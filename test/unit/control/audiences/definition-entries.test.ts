import { changeDefinition } from '../../../../services/control/audiences/definition-entries';
import { type ConfigEntries } from '../../../../services/control/config/config-entries';
import { type ConfigView } from '../../../../shared/config/types';
import { type Audience } from '../../../../shared/model/audience-definition';
import { type Destination } from '../../../../shared/model/config';
import { aDestination } from '../../../support/factories';

/** Two requests change the connections of one audience. */

const AUDIENCE = { id: 'aud_1', source: 'src_aud', name: 'Buyers' } as Audience;
const BY = { id: 'tok_1', name: 'Kim', role: 'admin' as const };

/** @param meanwhile runs after the audience was changed, before its connections are */
async function changed(
  before: Record<string, string[]>,
  wanted: (connected: string[]) => string[],
  meanwhile: (destinations: Map<string, Destination>) => void,
) {
  const destinations = new Map(
    Object.entries(before).map(([id, sources]) => [id, aDestination({ id, sources })]),
  );
  const config = {
    destinationsOf: (source: string) =>
      [...destinations.values()]
        .filter(({ sources }) => sources.includes(source))
        .map((data) => ({ version: 1, data })),
    source: () => ({ version: 1, data: { name: AUDIENCE.name } }),
    list: () => [],
  } as unknown as ConfigView;
  const entries = {
    get: () => ({ version: 1, data: AUDIENCE }),
    change: (kind: string, { id }: { id: string }, decide: (data: unknown) => unknown) => {
      if (kind === 'destination') {
        destinations.set(id, decide(destinations.get(id)) as Destination);
        return Promise.resolve({});
      }
      const data = decide(AUDIENCE);
      meanwhile(destinations);
      return Promise.resolve({ version: 2, data });
    },
  } as unknown as ConfigEntries;
  await changeDefinition<Audience>(
    { config, entries, kafka: { ranges: () => Promise.resolve([]) }, now: () => new Date(0) },
    'audience',
    { id: AUDIENCE.id, ifMatch: undefined, by: BY },
    (data, connected) => ({ data, destinations: wanted(connected) }),
  );
  return Object.fromEntries([...destinations].map(([id, { sources }]) => [id, sources]));
}

test('another name does not connect again what somebody disconnects meanwhile', async () => {
  const after = await changed(
    { dst_1: ['src_aud'] },
    (connected) => connected,
    (destinations) => destinations.set('dst_1', aDestination({ id: 'dst_1', sources: [] })),
  );
  expect(after).toEqual({ dst_1: [] });
});

test('what two connect is connected once, and what only one names stays', async () => {
  const after = await changed(
    { dst_1: ['src_1'], dst_2: [], dst_3: ['src_aud'] },
    () => ['dst_1'],
    (destinations) => {
      for (const id of ['dst_1', 'dst_2']) {
        const sources = [...destinations.get(id)!.sources, 'src_aud'];
        destinations.set(id, aDestination({ id, sources }));
      }
    },
  );
  expect(after).toEqual({ dst_1: ['src_1', 'src_aud'], dst_2: ['src_aud'], dst_3: [] });
});
