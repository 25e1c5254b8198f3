import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Proxies } from '../../../../services/delivery/http/proxies';
import { createLog } from '../../../../shared/telemetry/log';

/** The proxies that a process remembers. */

const open = (userInfo: unknown) => String(userInfo);
const aProxies = () =>
  new Proxies({ usual: undefined, now: () => 0, log: createLog('test', 'silent') });
const stored = (i: number) => ({ address: `http://proxy-${String(i)}.example:3128` });

test('destinations with one proxy share it', () => {
  const proxies = aProxies();
  expect(proxies.of(stored(1), open)).toBe(proxies.of(stored(1), open));
});

test('a proxy that no destination uses any more is forgotten', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const proxies = aProxies();
  const kept = proxies.of(stored(0), open);
  for (let i = 1; i <= 100; i++) proxies.of(stored(i), open);
  // A weak reference holds until the end of the turn in which it was made.
  await new Promise(setImmediate);
  collectGarbage();
  proxies.of(stored(101), open);
  expect(proxies.size).toBe(2);
  expect(proxies.of(stored(0), open)).toBe(kept);
});
