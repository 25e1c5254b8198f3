import { CALL_TYPES } from '../../shared/model/message';

/** Maps the path of a request to its documented route, for metrics and traces, without any text of the client. */

const ROUTES = new Map<string, string>([
  ...['batch', 'import', 'b'].map((name) => [`/v1/${name}`, '/v1/batch'] as const),
  ...CALL_TYPES.flatMap((type) => [
    [`/v1/${type}`, `/v1/${type}`] as const,
    [`/v1/${type[0] ?? ''}`, `/v1/${type}`] as const,
  ]),
  ['/v1/m', '/v1/m'],
]);
const WITH_PARAMETER = [
  { path: /^\/v1\/pixel\/[^/]+$/, route: '/v1/pixel/:type' },
  { path: /^\/v1\/projects\/[^/]+\/settings$/, route: '/v1/projects/:writeKey/settings' },
];

/** @returns empty for an unknown path */
export function routeOf(url: string): string {
  const direct = ROUTES.get(url);
  if (direct !== undefined) return direct;
  // It has a query, an extra slash, or capital letters.
  const [path = ''] = url.split('?', 1);
  const plain = path.replace(/^\/+/, '/').replace(/\/$/, '');
  const found = ROUTES.get(plain.toLowerCase());
  return found ?? WITH_PARAMETER.find((each) => each.path.test(plain))?.route ?? '';
}
