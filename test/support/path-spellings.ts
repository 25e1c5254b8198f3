/**
 * Returns other spellings of a control API path, that servers, proxies or routers may treat as the
 * plain path. `{id}` keeps its spelling: ids are case-sensitive.
 */
export function spellings(path: string): [name: string, path: string][] {
  const parts = path.split('/').slice(1);
  const [api = '', version = '', noun = '', ...rest] = parts;
  const end = rest.map((part) => `/${part}`).join('');
  const last = parts.at(-1) ?? '';
  const beforeLast = `/${parts.slice(0, -1).join('/')}`;
  const respelled = (change: (part: string) => string) =>
    `/${parts.map((part, i) => (i < 2 || part.startsWith('id_') ? part : change(part))).join('/')}`;
  return [
    ['a capital letter', `/${api}/${version}/${noun[0]!.toUpperCase()}${noun.slice(1)}${end}`],
    ['capital letters', respelled((part) => part.toUpperCase())],
    [
      'mixed letters',
      respelled((part) =>
        part.replace(/(.)(.)/g, (_, a: string, b: string) => a + b.toUpperCase()),
      ),
    ],
    ['/API', path.replace('/api', '/API')],
    ['/V1', path.replace('/v1', '/V1')],
    ['a slash at the end', `${path}/`],
    ['two slashes at the end', `${path}//`],
    ['an encoded slash at the end', `${path}%2F`],
    ['a slash before', `/${path}`],
    ['a double slash after /api', path.replace('/api', '/api/')],
    ['a double slash after /v1', path.replace('/v1', '/v1/')],
    ['a double slash before the last part', `${beforeLast}//${last}`],
    ['an encoded slash', path.replace('/v1/', '/v1%2f')],
    ['a dot segment', path.replace('/v1', '/v1/.')],
    ['a dot segment at the end', `${path}/.`],
    ['a dot segment before', `/.${path}`],
    ['two dots', path.replace('/v1', '/v1/sources/..')],
    ['two dots before', `/assets/..${path}`],
    ['two dots at the end', `${path}/x/..`],
    ['encoded dots', path.replace('/v1', '/v1/sources/%2e%2e')],
    ['an encoded letter', path.replace(`/${noun}`, `/${encoded(noun[0]!)}${noun.slice(1)}`)],
    ['encoded letters', respelled(encoded)],
    ['an encoded letter of /api', path.replace('/api', '/%61pi')],
    [
      'a letter encoded twice',
      path.replace(`/${noun}`, `/${encoded(noun[0]!).replace('%', '%25')}${noun.slice(1)}`),
    ],
    ['a broken sequence', `${path}%`],
    ['a backslash', path.replace('/v1/', '/v1\\')],
    ['a parameter', `${path};a=b`],
    ['a fragment', `${path}#a`],
    ['a NUL', `${path}%00`],
    ['a blank', `${path}%20`],
    ['an extension', `${path}.json`],
    ['a Kelvin sign for a k', path.replace(/k/, '%E2%84%AA').replace(/s([^s]*)$/, '%C5%BF$1')],
    ['the whole URL', `http://localhost${path}`],
    ['several of these', `/${encoded(api)}/V1//${noun.toUpperCase()}/.${end}/`],
  ];
}

const encoded = (text: string) => text.replace(/./g, (c) => `%${c.charCodeAt(0).toString(16)}`);
