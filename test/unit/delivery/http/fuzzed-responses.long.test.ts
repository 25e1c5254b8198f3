import { NameResolver } from '../../../../services/delivery/http/resolver';
import { Sender } from '../../../../services/delivery/http/client';
import { type SendResult } from '../../../../services/delivery/http/exchange';
import { StallClock } from '../../../../services/delivery/clock/stall-clock';
import { randomOf } from '../../../../tools/harness/random';
import { fewerCases, seedOf } from '../../../support/cases';
import { fuzzedResponse } from '../../../support/odd-responses';
import { startRawReceiver, writes } from '../../../support/raw-receiver';
import { openWay, WAYS } from '../../../support/ways';

/**
 * Random responses, ordinary and odd ones, of one endpoint to many requests at once: each request
 * gets the status that its own response left readable, or none, and an ordinary one after it gets
 * its own.
 */

const RESPONSES = fewerCases(5_000);
/** How many of them take each way. */
const SHARES = { plain: 1, TLS: 0.4, 'TLS through a proxy': 0.1 };
const AT_ONCE = 16;
const SEED = seedOf('RESPONSE_SEED');

test.each(WAYS.map((name) => [Math.ceil(RESPONSES * SHARES[name]), name] as const))(
  '%i random responses (%s) give the statuses that can be read, each to its own request ' +
    `(seed ${String(SEED)})`,
  async (count, name) => {
    const way = await openWay(name);
    const responseOf = (number: number) => fuzzedResponse(randomOf(SEED + number));
    const receiver = await startRawReceiver(
      (path) => {
        const [, kind, number] = path.split('/');
        const own = `own ${String(number)}`;
        if (kind === 'next') {
          return writes([`HTTP/1.1 207 X\r\ncontent-length: ${String(own.length)}\r\n\r\n${own}`]);
        }
        const { parts, then } = responseOf(Number(number));
        return writes(parts, then);
      },
      { tls: way.certificate },
    );
    const clock = new StallClock();
    const names = new NameResolver(1_000);
    const sender = new Sender({
      timeoutMs: 20_000,
      guard: () => undefined,
      names,
      clock,
      mostConnections: 100,
    });
    const post = (path: string) =>
      new Promise<SendResult>((resolve) => {
        sender.send(
          { origin: receiver.origin, path, headers: [], body: Buffer.from('{}'), ...way.request },
          resolve,
        );
      });
    const wrong: unknown[] = [];
    let next = 0;
    const worker = async () => {
      while (next < count) {
        const number = next++;
        const { status, isPlain, what } = responseOf(number);
        const result = await post(`/odd/${String(number)}`);
        const found = result.ok ? result.response.status : undefined;
        const isOdd = result.ok && result.response.oddities !== undefined;
        if (found !== status || (isPlain && isOdd)) {
          wrong.push([number, what, `wanted ${String(status)}`, result]);
        }
        const after = await post(`/next/${String(number)}`);
        const body = after.ok
          ? `${String(after.response.status)} ${after.response.body.toString()}`
          : after.error;
        if (body !== `207 own ${String(number)}`) {
          wrong.push([number, what, 'the next request', body]);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    await receiver.close();
    await sender.close();
    await way.close();
    clock.stop();
    expect(wrong.slice(0, 5)).toEqual([]);
  },
  240_000,
);
