// Sends tracks as fast as a client accepts them: node.cjs <waypost|segment> <endpoint> <number>
const process = require('node:process');

const [, , which, endpoint, number] = process.argv;
const count = Number(number);
let delivered = 0;

const properties = (i) => ({
  n: i,
  orderId: 'A-17',
  total: 12.5,
  currency: 'EUR',
  text: 'some words that a call may well have',
});
const call = (i) => ({ userId: 'user-1', event: 'Order Completed', properties: properties(i) });
const yielded = () => new Promise((resolve) => setImmediate(resolve));

async function throughWaypost() {
  const { Analytics } = require('../../../clients/node');
  const client = new Analytics({
    writeKey: 'key',
    endpoint,
    onDelivered: (messages) => (delivered += messages.length),
  });
  for (let i = 0; i < count; i++) {
    if (i % 20 === 0) await client.room();
    if (i % 100 === 0) await yielded();
    client.track(call(i));
  }
  await client.close({ timeoutMs: 120_000 });
}

async function throughSegment() {
  const { Analytics } = require('@segment/analytics-node');
  const client = new Analytics({ writeKey: 'key', host: endpoint });
  client.on('track', () => delivered++);
  for (let i = 0; i < count; i++) {
    if (i % 100 === 0) await yielded();
    client.track(call(i));
  }
  await client.closeAndFlush({ timeout: 120_000 });
}

async function main() {
  const began = performance.now();
  const cpu = process.cpuUsage();
  await (which === 'waypost' ? throughWaypost() : throughSegment());
  const { user, system } = process.cpuUsage(cpu);
  const ms = Math.round(performance.now() - began);
  const peakKb = process.resourceUsage().maxRSS;
  process.stdout.write(
    `${JSON.stringify({ ms, cpuMs: Math.round((user + system) / 1000), delivered, peakKb })}\n`,
  );
}

void main();
