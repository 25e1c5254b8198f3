// Our Node client: main.cjs <endpoint> <write key> <user> [number of tracks instead, the second
// half of them after SIGUSR2]
const { readFileSync } = require('node:fs');
const process = require('node:process');
const { clearInterval, setInterval } = require('node:timers');
const { Analytics } = require('../../../clients/node');
const everyType = require('../every-type.cjs');

const [, , endpoint, writeKey, userId, count] = process.argv;
const signalled = new Promise((resolve) => process.once('SIGUSR2', resolve));
let delivered = 0;
let failed = 0;
const analytics = new Analytics({
  writeKey,
  endpoint,
  flushAfterMs: 100,
  // A small queue, so that it is full while ingest is away.
  ...(count && { queueBytes: 1 << 20 }),
  onDelivered: (messages) => (delivered += messages.length),
  onFailed: (messages, failure) => {
    failed += messages.length;
    process.stderr.write(`${messages.length} calls: ${failure.message}\n`);
  },
});

async function signal() {
  // Neither a handler of signals nor a promise keeps Node running.
  const hold = setInterval(() => undefined, 1_000);
  await signalled;
  clearInterval(hold);
}

async function counted() {
  for (let i = 0; i < Number(count); i++) {
    if (i === Number(count) / 2) await signal();
    await analytics.room();
    const properties = { n: i, text: 'some words that a call may well have' };
    analytics.track({
      userId: `${userId} ${i % 100}`,
      event: 'Counted',
      messageId: `${userId} ${i}`,
      properties,
    });
  }
  return Number(count);
}

/**
 * Peak memory of this program. resourceUsage() would include the memory of the process that started
 * it.
 */
function peakMemoryKb() {
  if (process.platform !== 'linux') return process.resourceUsage().maxRSS;
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))[1]);
}

async function main() {
  const sent = count ? await counted() : everyType(analytics, userId);
  await analytics.close({ timeoutMs: 60_000 });
  const peakKb = peakMemoryKb();
  process.stdout.write(`${JSON.stringify({ delivered, failed, peakKb })}\n`);
  process.exitCode = delivered === sent ? 0 : 1;
}

void main();
