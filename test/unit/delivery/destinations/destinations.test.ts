import { randomBytes } from 'node:crypto';
import pino from 'pino';
import { Destinations } from '../../../../services/delivery/destinations/destinations';
import { Proxies } from '../../../../services/delivery/http/proxies';
import { withBodyStart } from '../../../../services/delivery/destinations/endpoint-auth';
import { createEncryptor, type Encryptor } from '../../../../shared/config/encryption';
import { type ConfigView } from '../../../../shared/config/types';
import { type Destination } from '../../../../shared/model/config';
import { secretFields } from '../../../../shared/model/secret-fields';
import { type Auth, mapAuth, type OAuth2 } from '../../../../shared/model/endpoint-auth';
import { aDestination } from '../../../support/factories';

/** Destinations decrypted with the keys of this process, and others that it cannot decrypt. */

const ID = 'dst_1';
const OURS = createEncryptor([randomBytes(32)]);
const OTHERS = createEncryptor([randomBytes(32)]);

const OAUTH2: OAuth2<string> = {
  type: 'oauth2',
  tokenUrl: 'https://login.example/token',
  tokenOrigin: 'https://login.example',
  clientId: 'shop',
  clientSecret: 'client secret',
};

type Change = {
  url?: Encryptor;
  header?: Encryptor;
  secret?: Encryptor;
  owner?: string;
  name?: string;
};

function sealedBy(by: Change): Destination {
  const { url = OURS, header = OURS, secret = OURS, owner = ID, name = 'X-Team' } = by;
  return aDestination({
    id: ID,
    webhooks: [
      {
        id: 'wh_1',
        url: url.encrypt('https://shop.example/in?token=t', secretFields.url(owner, 'wh_1')),
        origin: 'https://shop.example',
        headers: {
          [name]: header.encrypt('a b', secretFields.header(owner, 'wh_1', name)),
          'X-Other': header.encrypt('c', secretFields.header(owner, 'wh_1', 'X-Other')),
        },
      },
    ],
    secrets: { current: secret.encrypt('shared', secretFields.sharedSecret(owner)) },
  });
}

const sealAuth = (auth: Auth<string>, by: Encryptor) =>
  mapAuth(auth, (secret, name) => by.encrypt(secret, secretFields.auth(ID, 'wh_1', name)));

function lookupOf(...versions: Destination[]) {
  let unreadable = false;
  let version = 1;
  const logged: string[] = [];
  const entries = versions.map((data, i) => ({ version: i + 1, data }));
  const config = {
    destination: () => entries[version - 1],
    isUnreadable: () => unreadable,
  } as unknown as ConfigView;
  const log = pino({}, { write: (line) => logged.push(line) });
  const proxies = new Proxies({ usual: undefined, now: () => 0, log });
  const destinations = new Destinations(config, OURS, log, proxies);
  return {
    logged,
    damage: () => (unreadable = true),
    lookup: (atVersion = 1) => {
      version = atVersion;
      return destinations.lookup(ID);
    },
  };
}

test('a destination that this build cannot use waits until it can', () => {
  const usable = sealedBy({});
  const { lookup, logged } = lookupOf(
    { ...usable, proxy: { address: 'quic://proxy.example:1' } },
    usable,
  );
  expect(lookup(1)).toEqual({ kind: 'unreadable' });
  expect(JSON.parse(logged[0]!)).toMatchObject({ msg: 'destination.unusable', destination: ID });
  expect(lookup(2)).toMatchObject({ kind: 'open', version: 2 });
});

test('a version that came again after `config` was cut is looked up anew', () => {
  const entry = (id: string) => ({ version: 1, data: sealedBy({ owner: id }) });
  const [before, after] = [entry(ID), entry(ID)];
  let held = before;
  const config = { destination: () => held, isUnreadable: () => false };
  const destinations = new Destinations(config, OURS, pino({ level: 'silent' }));
  const first = destinations.lookup(ID);
  expect(destinations.lookup(ID)).toBe(first);
  held = after;
  expect(destinations.lookup(ID)).not.toBe(first);
});

test('a destination encrypted with our key has URL, headers and signing secret', () => {
  expect(lookupOf(sealedBy({})).lookup()).toMatchObject({
    kind: 'open',
    destination: {
      endpoints: [
        {
          origin: 'https://shop.example',
          path: '/in?token=t',
          staticHeaders: ['X-Team', 'a b', 'X-Other', 'c'],
        },
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
  const { lookup, logged } = lookupOf(sealedBy(by));
  expect(lookup()).toEqual({
    kind: 'sealed',
    version: 1,
    why: expect.stringContaining(`A sealed text of ${ID}`),
  });
  lookup();
  // Logged once, not for each delivery.
  expect(logged).toHaveLength(1);
  expect(logged[0]).toContain('destination.undecryptable');
});

test('a new version of a destination is decrypted again', () => {
  const { lookup } = lookupOf(sealedBy({ secret: OTHERS }), sealedBy({}));
  expect([lookup(1).kind, lookup(2).kind]).toEqual(['sealed', 'open']);
});

test('a destination with an unreadable record is neither used nor taken for deleted', () => {
  const { lookup, damage } = lookupOf(sealedBy({}));
  expect(lookup().kind).toBe('open');
  damage();
  expect(lookup()).toEqual({ kind: 'unreadable' });
});

test.each(['Traceparent', 'webhook-later', 'X-Signature'])(
  'a stored static header %s, reserved by Waypost, is left out and logged once for each version',
  (name) => {
    const { lookup, logged } = lookupOf(sealedBy({ name }), sealedBy({ name }));
    const sent = {
      kind: 'open',
      destination: { endpoints: [{ path: '/in?token=t', staticHeaders: ['X-Other', 'c'] }] },
    };
    expect([lookup(1), lookup(1), lookup(2)]).toMatchObject([sent, sent, sent]);
    expect(lookup(2)).not.toMatchObject({
      destination: { endpoints: [{ problem: expect.anything() }] },
    });
    expect(logged.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: 'headers.ignored', destination: ID, names: [name] }),
      expect.objectContaining({ msg: 'headers.ignored', destination: ID, names: [name] }),
    ]);
  },
);

test.each<[string, Auth<string>, object]>([
  [
    'basic',
    { type: 'basic', username: 'ann', password: 'pass' },
    { staticHeaders: ['X-Team', 'a b', 'X-Other', 'c', 'authorization', 'Basic YW5uOnBhc3M='] },
  ],
  [
    'bearer',
    { type: 'bearer', token: 'tok' },
    { staticHeaders: expect.arrayContaining(['Bearer tok']) },
  ],
  [
    'header',
    { type: 'header', name: 'X-Key', value: 'tok en' },
    { staticHeaders: expect.arrayContaining(['X-Key', 'tok en']) },
  ],
  [
    'oauth2',
    OAUTH2,
    { auth: { credentials: { origin: 'https://login.example', path: '/token' } } },
  ],
  [
    'pagerduty',
    { type: 'pagerduty', routingKey: 'rout"ing' },
    { auth: { bodyStart: Buffer.from('{"routing_key":"rout\\"ing"') } },
  ],
])('the authentication %s is compiled once, and its secrets are masked', (_, auth, expected) => {
  const destination = sealedBy({});
  destination.webhooks[0]!.auth = sealAuth(auth, OURS);
  const found = lookupOf(destination).lookup();
  expect(found).toMatchObject({ kind: 'open', destination: { endpoints: [expected] } });
  const [endpoint] = found.kind === 'open' ? found.destination.endpoints : [];
  const secret = ['pass', 'Bearer tok', 'tok en', 'client secret', 'rout"ing'].some((text) =>
    endpoint?.secrets.includes(text),
  );
  expect(secret).toBe(true);
});

test('a URL without authentication and TLS settings has no field for them', () => {
  const found = lookupOf(sealedBy({})).lookup();
  expect(found).not.toMatchObject({ destination: { endpoints: [{ auth: expect.anything() }] } });
});

test('a destination whose OAuth2 secrets are encrypted for others is sealed as a whole', () => {
  const destination = sealedBy({});
  destination.webhooks[0]!.auth = sealAuth(OAUTH2, OTHERS);
  expect(lookupOf(destination).lookup().kind).toBe('sealed');
});

test.each([
  ['{"a":1}', '{"routing_key":"k","a":1}'],
  ['{}', '{"routing_key":"k"}'],
  ['[1]', '[1]'],
  ['text', 'text'],
  ['', ''],
])('the body %s with a routing key is %s', (body, expected) => {
  expect(withBodyStart(Buffer.from(body), Buffer.from('{"routing_key":"k"')).toString()).toBe(
    expected,
  );
});

test('two webhooks with one URL are told apart: one may refuse what the other takes', () => {
  const [first] = sealedBy({}).webhooks;
  const url = OURS.encrypt('https://shop.example/in?token=t', secretFields.url(ID, 'wh_2'));
  const second = { id: 'wh_2', url, origin: 'https://shop.example', headers: {} };
  const found = lookupOf({ ...sealedBy({}), webhooks: [first!, second] }).lookup();
  if (found.kind !== 'open') throw new Error(found.kind);
  const [a, b] = found.destination.endpoints;
  expect([a!.path, a!.hash === b!.hash, a!.lane === b!.lane]).toEqual([b!.path, false, false]);
});
