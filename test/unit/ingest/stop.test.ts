import { setImmediate as nextTurn } from 'node:timers/promises';
import { Client } from 'undici';
import { basic, startTestIngest } from './start';

/**
 * Clients that keep their connections notice the end of an ingest only by a refused new connection.
 */

const ROUNDS = 5;
const CLIENTS = 20;
const CALLS = 5;

/** Calls one after another until a connection is refused. @returns what went wrong before that */
async function callUntilRefused(url: string, onAnswer: () => void): Promise<string[]> {
  const client = new Client(url);
  const wrong: string[] = [];
  for (let nth = 0; ; nth++) {
    try {
      const answer = await client.request({
        method: 'POST',
        path: '/v1/track',
        headers: { ...basic('key-1'), 'content-type': 'application/json' },
        body: JSON.stringify({ userId: 'kim', event: 'Seen' }),
      });
      await answer.body.dump();
      if (answer.statusCode !== 200) wrong.push(String(answer.statusCode));
      onAnswer();
    } catch (error) {
      const { code = String(error) } = error as NodeJS.ErrnoException;
      if (code === 'ECONNREFUSED') break;
      wrong.push(code);
    }
    // Connections are idle between calls, for different numbers of turns of the event loop.
    for (let turns = 20 * (nth % 7); turns > 0; turns--) await nextTurn();
  }
  await client.destroy();
  return wrong;
}

test.each(Array.from({ length: ROUNDS }, (_, i) => i + 1))(
  'ingest that stops under load answers every call until it refuses connections, round %i',
  async () => {
    // Given clients in the midst of their calls; then each call is answered, until a connection is
    // refused.
    const ingest = await startTestIngest();
    let clients: Promise<string[]>[] = [];
    await new Promise<void>((allCall) => {
      let answers = 0;
      const onAnswer = () => {
        if (++answers === CLIENTS * CALLS) allCall();
      };
      clients = Array.from({ length: CLIENTS }, () => callUntilRefused(ingest.url, onAnswer));
    });
    await ingest.stop(10_000);
    expect((await Promise.all(clients)).flat()).toEqual([]);
  },
);
