import { z } from 'zod';
import {
  patchablePlain,
  storedPlain,
  viewPlain,
} from '../../../../services/control/destinations/plain-fields';
import { plainBody, plainView } from '../../../../shared/api/plain-fields';

const OFF = { enabled: false, paused: false };

describe.each([
  [
    'without any',
    {},
    OFF,
    { ...OFF, types: null, filter: null, maxPerSecond: null, shards: 4, switchOffAfter: null },
  ],
  [
    'with all of them',
    {
      enabled: true,
      paused: true,
      types: ['track', 'page', 'track'],
      filter: 'true',
      maxPerSecond: 0.5,
      shards: 9,
      switchOffAfter: '2d',
    },
    {
      enabled: true,
      paused: true,
      types: ['track', 'page'],
      filter: 'true',
      maxPerSecond: 0.5,
      shards: 9,
      switchOffAfterMs: 172_800_000,
    },
    {
      enabled: true,
      paused: true,
      types: ['track', 'page'],
      filter: 'true',
      maxPerSecond: 0.5,
      shards: 9,
      switchOffAfter: '2d',
    },
  ],
])('the plain fields of a destination %s', (_, body, stored, view) => {
  const kept = storedPlain(z.strictObject(plainBody).parse(body));

  test('are stored without those that are not set', () => {
    expect(kept).toStrictEqual(stored);
  });

  test('are shown as the schema of a response says, null or the default for what is unset', () => {
    expect(viewPlain(kept)).toStrictEqual(view);
    expect(z.strictObject(plainView).parse(view)).toEqual(view);
  });

  test('are the same after a patch that changes none of them', () => {
    const again = z.strictObject(plainBody).parse(patchablePlain(kept));
    expect(storedPlain(again)).toStrictEqual(kept);
  });
});

test.each([
  [{ enabled: 'yes' }, 'enabled'],
  [{ types: [] }, 'types'],
  [{ types: ['alarm'] }, 'types'],
  [{ maxPerSecond: 0.01 }, 'maxPerSecond'],
  [{ maxPerSecond: 100_001 }, 'maxPerSecond'],
  [{ shards: 1.5 }, 'shards'],
  [{ shards: 1_001 }, 'shards'],
  [{ switchOffAfter: '91d' }, 'switchOffAfter'],
])('%j is refused', (body, field) => {
  expect(z.strictObject(plainBody).safeParse(body).error?.issues[0]?.path[0]).toBe(field);
});
