import { routeOf } from '../../../services/ingest/route-name';

test.each([
  ['/v1/batch', '/v1/batch'],
  ['/v1/b', '/v1/batch'],
  ['/v1/import', '/v1/batch'],
  ['/v1/track', '/v1/track'],
  ['/v1/t/', '/v1/track'],
  ['//v1/identify?x=1', '/v1/identify'],
  ['/V1/Screen', '/v1/screen'],
  ['/v1/m', '/v1/m'],
  ['/v1/pixel/track?data=secret', '/v1/pixel/:type'],
  ['/v1/projects/a-write-key/settings', '/v1/projects/:writeKey/settings'],
  ['/v1/projects/a-write-key', ''],
  ['/', ''],
  ['', ''],
])('%j is %j', (url, route) => expect(routeOf(url)).toBe(route));
