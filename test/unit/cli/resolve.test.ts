import { type Given, resolvePlace } from '../../../cli/connect/resolve-place';

/** Resolves the address of Waypost, and sends a token to no other address. */

const KEPT = { url: 'https://waypost.example', token: 'kept', ingestUrl: 'https://in.example' };
const LOCAL = {
  dir: '.waypost',
  url: 'http://127.0.0.1:9000',
  ingestUrl: 'http://127.0.0.1:9001',
  token: 'local',
};

test.each<
  [string, Given, { url: string; ingestUrl?: string | undefined; token?: string | undefined }]
>([
  [
    'without any setting the addresses are the defaults on this machine',
    { env: {} },
    { url: 'http://127.0.0.1:8090', ingestUrl: 'http://127.0.0.1:8080' },
  ],
  [
    'a data dir gives its addresses and its token',
    { env: {}, local: LOCAL },
    { url: LOCAL.url, ingestUrl: LOCAL.ingestUrl, token: 'local' },
  ],
  [
    'a data dir of an older version gives its token for the default addresses',
    { env: {}, local: { dir: 'd', token: 't' } },
    { url: 'http://127.0.0.1:8090', ingestUrl: 'http://127.0.0.1:8080', token: 't' },
  ],
  ['a stored login wins over a data dir', { env: {}, kept: KEPT, local: LOCAL }, KEPT],
  [
    'a token of the environment is not sent to the address of a stored login',
    { env: { WAYPOST_TOKEN: 'other' }, kept: KEPT },
    { ...KEPT, token: 'kept' },
  ],
  [
    'the environment wins over a stored login',
    { env: { WAYPOST_URL: 'http://a.example:8090/', WAYPOST_TOKEN: 't' }, kept: KEPT },
    { url: 'http://a.example:8090', ingestUrl: 'http://a.example:8080', token: 't' },
  ],
  [
    'a stored token is not sent to another address',
    { env: {}, url: 'https://evil.example', kept: KEPT, local: LOCAL },
    { url: 'https://evil.example', ingestUrl: undefined, token: undefined },
  ],
  ['a stored token is sent to its own address', { env: {}, url: KEPT.url, kept: KEPT }, KEPT],
  [
    'the token of a data dir is not sent to another port',
    { env: {}, url: 'http://127.0.0.1:9999', local: LOCAL },
    { url: 'http://127.0.0.1:9999', ingestUrl: undefined, token: undefined },
  ],
  [
    'a data dir that names another machine gets no token',
    { env: {}, local: { ...LOCAL, url: 'http://evil.example' } },
    { url: 'http://127.0.0.1:8090', token: undefined },
  ],
  [
    'the admin token of the services opens the address of a data dir',
    { env: { WAYPOST_ADMIN_TOKEN: 'admin' }, local: LOCAL },
    { url: LOCAL.url, token: 'admin' },
  ],
  [
    'the environment sets the address of ingest alone',
    { env: { WAYPOST_INGEST_URL: 'https://in.example/' }, local: LOCAL },
    { url: LOCAL.url, ingestUrl: 'https://in.example', token: 'local' },
  ],
])('%s', (_, given, place) => {
  expect(resolvePlace(given)).toMatchObject(place);
});

test.each(['waypost.example', 'ftp://a', 'http://', 'http://me:secret@a.example'])(
  'the address %s is refused',
  (url) => {
    expect(() => resolvePlace({ url, env: {} })).toThrow(/^--url must/);
  },
);
