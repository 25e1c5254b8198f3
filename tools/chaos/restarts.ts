import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../test/support/eventually';
import { startSink } from '../harness/sink';
import { removeData, startSystem, type System, systemEnv } from '../harness/system';
import { runMain } from '../harness/run-main';

/**
 * `node dist/tools/chaos/restarts.js`: kills `npm start` with SIGKILL five times under load, and
 * starts it again immediately each time. Every call that was answered with 200 must be delivered,
 * and Kafka must find no damage. Set WAYPOST_KAFKA to choose how the broker runs.
 */

const KILLS = 5;
const CALLS_BEFORE_KILL = 150;
const SENDERS = 8;
const READY_MS = 240_000;
const ARRIVE_MS = 120_000;
/**
 * Kafka's words for a log that it could not read to its end, and for a second broker on the same
 * records.
 */
const DAMAGE = /corrupt|truncat|invalid messages|acquire lock/i;

const say = (line: string) => process.stdout.write(`${line}\n`);

async function main(): Promise<boolean> {
  const dir = mkdtempSync(join(tmpdir(), 'waypost-restarts-'));
  const sink = await startSink();
  const env = await systemEnv({ embedded: true, dataDir: dir, prefix: '' });
  const start = () => startSystem({ embedded: true, dataDir: dir, env, deadlineMs: READY_MS });
  let system = await start();
  try {
    const { id, writeKey } = await system.createSource();
    await system.createDestination({ sources: [id], webhooks: [{ url: sink.url('/') }] });
    const accepted = new Set<string>();
    for (let kill = 1; kill <= KILLS; kill++) {
      await killUnderLoad(system, { writeKey, accepted, name: `kill-${kill}` });
      const startedAt = performance.now();
      system = await start();
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      say(`kill ${kill}: ready again after ${seconds} s; ${accepted.size} calls accepted so far`);
    }
    const arrived = () => new Set(sink.requests.map(({ body }) => messageIdOf(body)));
    await eventually(
      () => {
        const missing = [...accepted].filter((messageId) => !arrived().has(messageId));
        if (missing.length > 0) {
          throw new Error(`${missing.length} of ${accepted.size} accepted calls did not arrive`);
        }
      },
      { deadlineMs: ARRIVE_MS },
    );
    const log = readFileSync(join(dir, 'kafka', 'kafka.log'), 'utf8').split('\n');
    const starts = log.filter((line) => line.includes('Kafka Server started')).length;
    const damage = log.filter((line) => DAMAGE.test(line));
    say(
      `all ${accepted.size} accepted calls arrived; of ${starts} starts of Kafka, ` +
        `${damage.length} lines of its log report damage`,
    );
    for (const line of damage) say(`  ${line}`);
    if (starts < KILLS + 1) {
      throw new Error(
        `Kafka's log has ${starts} starts instead of ${KILLS + 1}, so it proves nothing.`,
      );
    }
    return damage.length === 0;
  } finally {
    await system.stop();
    await sink.close();
    await removeData(dir);
  }
}

/**
 * Sends calls until enough were accepted, kills the supervisor while more are in flight, and ends
 * with the last answer.
 */
async function killUnderLoad(
  system: System,
  { writeKey, accepted, name }: { writeKey: string; accepted: Set<string>; name: string },
): Promise<void> {
  const enough = accepted.size + CALLS_BEFORE_KILL;
  let sent = 0;
  let killed = false;
  const sender = async () => {
    while (!killed) {
      const messageId = `${name}-${++sent}`;
      const answer = await system
        .send(writeKey, 'track', { userId: 'u', event: 'Restarted', messageId })
        .catch(() => undefined);
      if (answer?.status !== 200) continue;
      accepted.add(messageId);
      if (accepted.size !== enough) continue;
      killed = true;
      process.kill(system.pid, 'SIGKILL');
    }
  };
  await Promise.all(Array.from({ length: SENDERS }, sender));
}

function messageIdOf(body: Buffer): string {
  return (JSON.parse(body.toString()) as { messageId: string }).messageId;
}

runMain(main);
