import { TokenCache } from '../../../../services/delivery/tokens/token-cache';

/** One token over time, in ms. */

const obtained = (cache: TokenCache, token: string, now: number, lifetimeMs = 100_000) => {
  cache.asked();
  cache.answered({ token, lifetimeMs }, now);
};

test('a token is used until shortly before it expires, and refreshed in its last fifth', () => {
  const cache = new TokenCache();
  expect(cache.needsRequest(0)).toBe(true);
  obtained(cache, 'a', 0);
  const states = [0, 79_000, 80_000, 94_000, 95_000].map((now) => [
    cache.usable(now)?.value,
    cache.needsRequest(now),
  ]);
  expect(states).toEqual([
    ['a', false],
    ['a', false],
    ['a', true],
    ['a', true],
    [undefined, true],
  ]);
});

test('a token with a short life is used for most of it', () => {
  const cache = new TokenCache();
  obtained(cache, 'a', 0, 1_000);
  expect([cache.usable(899)?.value, cache.usable(901)]).toEqual(['a', undefined]);
});

test('one request for a token runs at a time, and webhooks wait for the first one', () => {
  const cache = new TokenCache();
  cache.asked();
  expect([cache.needsRequest(0), cache.heldFor(0)]).toEqual([false, undefined]);
});

test.each<[string, boolean, number[]]>([
  ['an outage', false, [1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000]],
  ['a refusal of the client', true, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]],
])(
  'after %s webhooks are held, and the pause before the next request doubles up to a limit',
  (_, isRefusal, expected) => {
    const cache = new TokenCache();
    const pauses: number[] = [];
    let now = 0;
    for (let i = 0; i < 7; i++) {
      cache.asked();
      expect(cache.heldFor(now)).toBe(i === 0 ? undefined : now);
      cache.answered({ why: 'no token', isRefusal }, now);
      expect(cache.heldFor(now)).toBe(now);
      const from = now;
      while (!cache.needsRequest(now)) now += 500;
      // The webhook that asks again is not held.
      expect(cache.heldFor(now)).toBeUndefined();
      pauses.push(now - from);
    }
    expect(pauses).toEqual(expected);
    obtained(cache, 'a', now);
    expect(cache.heldFor(now)).toBeUndefined();
  },
);

test('sending one webhook ends the pause after a failure, and sending many once a second', () => {
  const cache = new TokenCache();
  const fails = (now: number) => {
    cache.asked();
    cache.answered({ why: 'it answered 500' }, now);
  };
  const asksAfter = (how: 'always' | 'sometimes', now: number) => {
    cache.insist(how, now);
    return cache.needsRequest(now);
  };
  fails(0);
  expect(asksAfter('sometimes', 10)).toBe(true);
  fails(10);
  expect([asksAfter('sometimes', 20), asksAfter('sometimes', 1_009)]).toEqual([false, false]);
  expect(asksAfter('always', 30)).toBe(true);
  fails(30);
  expect([asksAfter('sometimes', 1_029), asksAfter('sometimes', 1_030)]).toEqual([false, true]);
});

test('a failed refresh holds no webhook while the token is valid', () => {
  const cache = new TokenCache();
  obtained(cache, 'a', 0);
  cache.asked();
  cache.answered({ why: 'it answered 500' }, 80_000);
  expect([cache.usable(80_000)?.value, cache.heldFor(80_000), cache.needsRequest(80_500)]).toEqual([
    'a',
    undefined,
    false,
  ]);
  expect(cache.heldFor(95_000)).toBeUndefined();
});

test('a refused token is replaced once, and one that never works is kept for a minute', () => {
  const cache = new TokenCache();
  obtained(cache, 'a', 0);
  const a = cache.usable(0)!;
  expect(cache.refused(a, 1)).toBe(true);
  expect([cache.usable(1), cache.needsRequest(1)]).toEqual([undefined, true]);
  obtained(cache, 'b', 2);
  const b = cache.usable(2)!;
  // Other requests with the old token are sent again with the new one.
  expect(cache.refused(a, 3)).toBe(true);
  expect(cache.usable(3)?.value).toBe('b');
  expect([cache.refused(b, 4), cache.usable(4)?.value]).toEqual([false, 'b']);
  expect(cache.refused(b, 60_003)).toBe(true);
});

test('a replacement that worked is replaced again when it is refused', () => {
  const cache = new TokenCache();
  obtained(cache, 'a', 0);
  cache.refused(cache.usable(0)!, 1);
  obtained(cache, 'b', 2);
  const b = cache.usable(2)!;
  b.hasWorked = true;
  expect(cache.refused(b, 3)).toBe(true);
});
