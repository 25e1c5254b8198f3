import { type AuthenticationProviderArgs } from 'kafkajs';
import {
  bearerMechanism,
  refreshTime,
  TokenCache,
} from '../../../../../shared/kafka/client/sasl/bearer-token';

/** Tokens: when they are requested, reused and dropped, and what the broker is sent. */

test.each([
  ['an hour: 80 %', 3_600_000, 2_880_000],
  ['a minute: 30 s before its end', 60_000, 30_000],
  ['20 s: the half', 20_000, 10_000],
  ['no time: at once', 0, 0],
])('a token that lives for %s is replaced then', (_, lifetime, after) => {
  expect(refreshTime(5, 5 + lifetime)).toBe(5 + after);
});

describe('a cached token', () => {
  let nowMs = 0;
  let failure: Error | undefined;
  let requests = 0;
  const make = () =>
    new TokenCache(
      () => {
        requests++;
        if (failure) return Promise.reject(failure);
        return Promise.resolve({ value: `token ${requests}`, expiresAt: nowMs + 1_000_000 });
      },
      () => nowMs,
    );

  beforeEach(() => {
    [nowMs, requests, failure] = [0, 0, undefined];
  });

  test('is requested once by concurrent callers, and reused until it is due', async () => {
    const tokens = make();
    expect(await Promise.all([tokens.get(), tokens.get(), tokens.get()])).toEqual([
      'token 1',
      'token 1',
      'token 1',
    ]);
    nowMs = 799_999;
    expect(await tokens.get()).toBe('token 1');
    nowMs = 800_000;
    expect(await tokens.get()).toBe('token 2');
  });

  test('serves until it expires while the endpoint fails, and is replaced afterwards', async () => {
    const tokens = make();
    await tokens.get();
    failure = new Error('down');
    nowMs = 999_999;
    expect(await tokens.get()).toBe('token 1');
    nowMs = 1_000_000;
    await expect(tokens.get()).rejects.toThrow('down');
    failure = undefined;
    expect(await tokens.get()).toBe('token 4');
  });

  test('is dropped if the broker refuses it, but not requested again within a minute', async () => {
    const tokens = make();
    const token = await tokens.get();
    nowMs = 60_000;
    tokens.refused(token);
    expect(await tokens.get()).toBe(token);
    nowMs = 60_001;
    tokens.refused('another');
    expect(await tokens.get()).toBe(token);
    tokens.refused(token);
    expect(await tokens.get()).toBe('token 2');
  });
});

describe('the exchange with a broker', () => {
  const said: string[] = [];
  const errors: string[] = [];
  const mechanism = bearerMechanism(
    new TokenCache(() => Promise.resolve({ value: 'abc', expiresAt: Infinity })),
    {
      logicalCluster: 'lkc-1',
    },
  );
  /** @param answers of the broker; an error fails the exchange */
  const exchange = (...answers: (string | Error)[]) => {
    const saslAuthenticate = async ({
      request,
      response,
    }: Parameters<AuthenticationProviderArgs['saslAuthenticate']>[0]) => {
      const bytes = await request.encode();
      expect(bytes.readInt32BE()).toBe(bytes.length - 4);
      said.push(bytes.toString('utf8', 4));
      const answer = answers.shift()!;
      if (answer instanceof Error) throw answer;
      return response?.parse(
        await response.decode(Buffer.concat([Buffer.alloc(4), Buffer.from(answer)])),
      );
    };
    const logger = { error: (text: string) => errors.push(text) };
    const args = {
      host: 'k',
      port: 9092,
      logger,
      saslAuthenticate,
    } as unknown as AuthenticationProviderArgs;
    return mechanism.authenticationProvider(args).authenticate();
  };

  beforeEach(() => {
    said.length = errors.length = 0;
  });

  test('sends the token and its extensions', async () => {
    await exchange('');
    expect(said).toEqual(['n,,\u0001auth=Bearer abc\u0001logicalCluster=lkc-1\u0001\u0001']);
  });

  test('fails with the reason of a broker that refuses the token, without the token', async () => {
    const refusal = exchange('{"status":"invalid_token"}', new Error('the audience is wrong'));
    await expect(refusal).rejects.toThrow(/^Kafka refuses the token: the audience is wrong$/);
    expect(said[1]).toBe('\u0001');
    expect(errors).toEqual(['Kafka refuses the token: the audience is wrong']);
    await expect(exchange('{"status":"invalid_token"}', '')).rejects.toThrow('invalid_token');
  });
});
