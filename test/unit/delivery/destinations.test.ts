import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { Destinations } from '../../../services/delivery/destinations';
import { createEncryptor, type Encryptor } from '../../../shared/config/encryption';
import { type ConfigView } from '../../../shared/config/types';
import { type Destination } from '../../../shared/model/config';

/** Destinations decrypted with the keys of this process, and others that it cannot decrypt. */

const ID = 'dst_1';
const OURS = createEncryptor([randomBytes(32)]);
const OTHERS = createEncryptor([randomBytes(32)]);
const AT = '2026-01-01T00:00:00.000Z';

type Change = { url?: Encryptor; header?: Encryptor; secret?: Encryptor; owner?: string; name?: string };

function aDestination(by: Change): Destination {
  const { url = OURS, header = OURS, secret = OURS, owner = ID, name = 'X-Team' } = by;
  return {
    ...{ id: ID, name: 'A destination', type: 'webhooks', enabled: true, paused: false, sources: ['src_1'] },
    ...{ createdAt: AT, updatedAt: AT },
    webhooks: [
      {
        id: 'wh_1',
        url: url.encrypt('https://shop.example/in?token=t', owner),
        origin: 'https://shop.example',
        headers: { [name]: header.encrypt('a b', owner), 'X-Other': header.encrypt('c', owner) },
      },
    ],
    secrets: { current: secret.encrypt('shared', owner) },
  };
}

function lookupOf(...versions: Destination[]) {
  let unreadable = false;
  let version = 1;
  const logged: string[] = [];
  const config = {
    destination: () => ({ version, data: versions[version - 1] }),
    isUnreadable: () => unreadable,
  } as unknown as ConfigView;
  const destinations = new Destinations(config, OURS, pino({}, { write: (line) => logged.push(line) }));
  return {
    logged,
    damage: () => (unreadable = true),
    lookup: (atVersion = 1) => {
      version = atVersion;
      return destinations.lookup(ID);
    },
  };
}

test('a destination encrypted with our key has URL, headers and signing secret', () => {
  expect(lookupOf(aDestination({})).lookup()).toMatchObject({
    kind: 'open',
    destination: {
      endpoints: [
        { origin: 'https://shop.example', path: '/in?token=t', staticHeaders: ['X-Team', 'a b', 'X-Other', 'c'] },
      ],
      secrets: { previous: undefined },
    },
  });
});

test.each([
  ['its URL', { url: OTHERS }],
  ['a header', { header: OTHERS }],
  ['its secret', { secret: OTHERS }],
  ['everything', { owner: 'dst_2' }],
])('a destination with %s encrypted for others is sealed as a whole', (_, by) => {
  const { lookup, logged } = lookupOf(aDestination(by));
  expect(lookup()).toEqual({ kind: 'sealed', version: 1, why: expect.stringContaining(`A sealed text of ${ID}`) });
  lookup();
  // Logged once, not for each delivery.
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('destination.undecryptable');
});

test('a new version of a destination is decrypted again', () => {
  const { lookup } = lookupOf(aDestination({ secret: OTHERS }), aDestination({}));
  expect([lookup(1).kind, lookup(2).kind]).toEqual(['sealed', 'open']);
});

test('a destination with an unreadable record is neither used as it was nor taken for deleted', () => {
  const { lookup, damage } = lookupOf(aDestination({}));
  expect(lookup().kind).toBe('open');
  damage();
  expect(lookup()).toEqual({ kind: 'unreadable' });
});

test.each(['Traceparent', 'webhook-later', 'X-Signature'])(
  'a stored static header %s, whose name Waypost reserves, is left out and logged once for each version',
  (name) => {
    const { lookup, logged } = lookupOf(aDestination({ name }), aDestination({ name }));
    const sent = {
      kind: 'open',
      destination: { endpoints: [{ path: '/in?token=t', staticHeaders: ['X-Other', 'c'] }] },
    };
    expect([lookup(1), lookup(1), lookup(2)]).toMatchObject([sent, sent, sent]);
    expect(lookup(2)).not.toMatchObject({ destination: { endpoints: [{ problem: expect.anything() }] } });
    expect(logged.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: 'headers.ignored', destination: ID, names: [name] }),
      expect.objectContaining({ msg: 'headers.ignored', destination: ID, names: [name] }),
    ]);
  },
);
