import {
  type Given,
  type Local,
  resolveInstallation,
} from '../../../cli/connect/resolve-installation';

/** Resolves the address of Waypost, and sends a token to no other address. */

const KEPT = { url: 'https://waypost.example', token: 'kept', ingestUrl: 'https://in.example' };
const OWN = { url: 'http://127.0.0.1:9000', ingestUrl: 'http://127.0.0.1:9001', token: 'local' };
const LOCAL: Local = { dir: '.waypost', state: 'running', login: OWN };
/** No `npm start` of this user has made it. */
const UNKNOWN: Local = { dir: '.waypost', state: 'unknown' };
/** `npm start` has made it, and has ended. */
const STOPPED: Local = { dir: '.waypost', state: 'stopped' };

test.each<
  [string, Given, { url: string; ingestUrl?: string | undefined; token?: string | undefined }]
>([
  [
    'without any setting the addresses are the defaults on this machine',
    { env: {} },
    { url: 'http://127.0.0.1:8090', ingestUrl: 'http://127.0.0.1:8080' },
  ],
  ['a data dir gives its addresses and its token', { env: {}, local: LOCAL }, OWN],
  [
    'a data dir whose system has its token from the environment gives its addresses',
    { env: { WAYPOST_TOKEN: 't' }, local: { ...LOCAL, login: { ...OWN, token: undefined } } },
    { ...OWN, token: 't' },
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
    'an address beside an unknown data dir has nothing of it',
    { env: {}, url: 'http://127.0.0.1:8090', local: UNKNOWN },
    { url: 'http://127.0.0.1:8090', token: undefined },
  ],
  [
    'the token of a data dir is not sent to its own address while its system is down',
    { env: {}, url: OWN.url, local: STOPPED },
    { url: OWN.url, token: undefined },
  ],
  [
    'a stored login beside an unknown data dir counts',
    { env: {}, kept: KEPT, local: UNKNOWN },
    KEPT,
  ],
  [
    'the admin token of the services opens the address of a data dir',
    { env: { WAYPOST_ADMIN_TOKEN: 'admin' }, local: LOCAL },
    { url: OWN.url, token: 'admin' },
  ],
  [
    'where the admin token may not be used, that of the environment and of a data dir do not count',
    { env: { WAYPOST_ADMIN_TOKEN: 'admin' }, local: LOCAL, adminToken: false },
    { ...OWN, token: undefined },
  ],
  [
    'where the admin token may not be used, a token of the environment is',
    { env: { WAYPOST_TOKEN: 't', WAYPOST_ADMIN_TOKEN: 'a' }, local: LOCAL, adminToken: false },
    { ...OWN, token: 't' },
  ],
  [
    'the environment sets the address of ingest alone',
    { env: { WAYPOST_INGEST_URL: 'https://in.example/' }, local: LOCAL },
    { url: OWN.url, ingestUrl: 'https://in.example', token: 'local' },
  ],
])('%s', (_, given, place) => {
  expect(resolveInstallation(given)).toMatchObject(place);
});

test('an unknown data dir is refused, also with a token of the environment', () => {
  expect(() => resolveInstallation({ env: { WAYPOST_TOKEN: 't' }, local: UNKNOWN })).toThrow(
    /^No `npm start` of yours has made \.waypost, .* run `npm start` here again\..*WAYPOST_URL/,
  );
});

test('a data dir whose system is down is refused, also with a token of the environment', () => {
  expect(() => resolveInstallation({ env: { WAYPOST_TOKEN: 't' }, local: STOPPED })).toThrow(
    /^The Waypost of \.waypost is not running\. Run `npm start`/,
  );
});

test.each(['waypost.example', 'ftp://a', 'http://', 'http://me:secret@a.example'])(
  'the address %s is refused',
  (url) => {
    expect(() => resolveInstallation({ url, env: {} })).toThrow(/^--url must/);
  },
);
