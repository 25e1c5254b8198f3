import { runSendNow } from '../../tools/chaos/send-now';

/** All that waits at an endpoint, sent now among others. */

test('deliveries sent now arrive once, although a killed retry returns them later', async () => {
  const lines: string[] = [];
  const options = { waiting: 300, others: 5_000, tierMs: 20_000 };
  const outcome = await runSendNow(options, (line) => lines.push(line));
  process.stdout.write(`${lines.join('\n')}\n`);
  expect(outcome).toMatchObject({
    posts: 300,
    distinct: 300,
    job: { status: 'done', asked: 300, delivered: 300 },
  });
  expect(outcome.dropped).toBeGreaterThan(0);
}, 600_000);
