import { documentedPath } from '../../../../services/control/telemetry';

test.each([
  ['/api/v1/sources', '/api/v1/sources'],
  ['/api/v1/sources?limit=1', '/api/v1/sources'],
  ['/api/v1/sources/?limit=1', ''],
  ['/api/v1/deliveries/dlv_1/replay', '/api/v1/deliveries/{id}/replay'],
  ['/api/v1/events/stream', '/api/v1/events/stream'],
  ['/api/v1/nothing', ''],
  ['/api/v1/sources/a/b/c', ''],
  ['/index.html', ''],
])('the documented path of %j is %j', (url, path) => expect(documentedPath(url)).toBe(path));
