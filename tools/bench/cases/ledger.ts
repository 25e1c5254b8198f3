import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { processNames } from '../../../bin/service-list';
import { copyHistoryFiles } from '../../../test/support/history-files';
import { type SystemEnv } from '../../harness/services';
import { openLoop, within } from '../../harness/timing';
import { Calls, createCustomers } from '../load';
import { COUNTERS_MAIN, LEDGER_DIR, LEDGER_KAFKA_PORT, REQUEST } from '../ledger/counters';
import { between, type Ledger, readCounts } from '../ledger/ledger';
import { sumOf } from '../ledger/limits';
import { type Progress } from '../progress';
import { type Row } from '../rows';
import { type Bench, withSystem } from '../setup';

/**
 * Counts what one call costs at 50 calls a second and at full speed, and what a second without
 * calls costs: requests to Kafka, wake-ups, system calls, JSON, bytes.
 */

export interface LedgerSize {
  /** time after the start before the system counts as idle */
  settleSeconds: number;
  seconds: number;
  /** calls before the first measurement */
  warmUp: number;
  fullSpeed: number;
  together?: boolean;
}

export interface LedgerFigure {
  /** of one second */
  idle: Ledger;
  /** of one call */
  seldom: Ledger;
  fullSpeed: Ledger;
}

const PER_SECOND = 50;
const CONNECTIONS = 32;
const ARRIVAL_MS = 60_000;

export async function measureLedger(
  bench: Bench,
  size: LedgerSize,
  progress: Progress,
): Promise<LedgerFigure> {
  const dir = join(bench.dir, 'ledger');
  mkdirSync(dir, { recursive: true });
  const env = {
    NODE_OPTIONS: `--require ${COUNTERS_MAIN}`,
    [LEDGER_DIR]: dir,
    [LEDGER_KAFKA_PORT]: new URL(`kafka://${bench.broker.address}`).port,
  };
  const services = processNames(size.together);
  const before = ({ env: of }: SystemEnv) => {
    copyHistoryFiles(of.WAYPOST_DATA_DIR ?? '');
    return Promise.resolve();
  };
  return withSystem(
    bench,
    { name: 'ledger', services, env, before },
    async ({ system, pids: all }) => {
      const { receiver: _receiver, bench: _bench, ...pids } = all;
      const customers = await createCustomers(system, [`${bench.endpoint.origin}/ok/ledger`]);
      const calls = new Calls(system.ingestUrl, CONNECTIONS, customers, 'ledger');
      const each = () => calls.postSingle().then(() => undefined);
      const countDuring = async (units: number, run: () => Promise<void>) => {
        const from = await readCounts(dir, pids);
        await run();
        return between(from, await readCounts(dir, pids), units);
      };
      const delivered = async (count: number, send: () => Promise<void>) => {
        bench.endpoint.reset({ ids: false });
        const arrived = bench.endpoint.reached(count);
        await send();
        await within('the last webhook', ARRIVAL_MS, arrived);
      };
      const atRate = (count: number) => () =>
        delivered(count, () => openLoop(PER_SECOND, (started) => started < count, each));
      const asFastAsPossible = (count: number) => () =>
        delivered(count, async () => {
          let left = count;
          const worker = async () => {
            while (left-- > 0) await each();
          };
          await Promise.all(Array.from({ length: CONNECTIONS }, worker));
        });

      await asFastAsPossible(size.warmUp)();
      await progress.during('settling', size.settleSeconds * 1_000, () =>
        pause(size.settleSeconds * 1_000),
      );
      progress.note('without calls');
      const idle = await countDuring(size.seconds, () => pause(size.seconds * 1_000));
      progress.note(`${String(PER_SECOND)} calls/s`);
      await atRate(PER_SECOND)();
      const count = PER_SECOND * size.seconds;
      const seldom = await countDuring(count, atRate(count));
      progress.note('full speed');
      const fullSpeed = await countDuring(size.fullSpeed, asFastAsPossible(size.fullSpeed));
      await calls.close();
      return { idle, seldom, fullSpeed };
    },
  );
}

export function ledgerRows({ idle, seldom, fullSpeed }: LedgerFigure): Row[] {
  return [
    ...rowsOf('an idle second', idle),
    ...rowsOf('a call at 50/s', seldom),
    ...rowsOf('a call at full speed', fullSpeed),
  ];
}

function rowsOf(unit: string, ledger: Ledger): Row[] {
  return Object.entries(ledger).flatMap(([process, counts]) => {
    const requests = Object.entries(counts).filter(([name]) => name.startsWith(REQUEST));
    const all = process === 'broker' ? counts : { 'Kafka requests': sumOf(requests), ...counts };
    return Object.entries(all).map(([name, value]) => ({
      title: `${process}: ${name}`,
      unit,
      value,
      goal: undefined,
    }));
  });
}
