import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type LedgerFigure } from '../../tools/bench/cases/ledger';
import { excess, FULL_SPEED, IDLE, SELDOM } from '../../tools/bench/ledger/limits';
import { type Results } from '../../tools/bench/report';

/**
 * What a call and an idle second cost, counted and not timed (docs/performance.md has the table). A
 * change that adds a request to Kafka or a wake-up fails here, until tools/bench/ledger/limits.ts
 * says why.
 */

const dir = mkdtempSync(join(tmpdir(), 'waypost-ledger-'));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Runs the benchmark as its users do: its processes load compiled code. */
async function ledger(): Promise<LedgerFigure> {
  const file = join(dir, 'figures.json');
  const arguments_ = ['--quick', '--only', 'ledger', '--json', file];
  await promisify(execFile)(process.execPath, ['dist/tools/bench/main.js', ...arguments_]);
  const { rounds } = JSON.parse(readFileSync(file, 'utf8')) as Results;
  return rounds[0]!.figures.ledger as LedgerFigure;
}

const onLinux = process.platform === 'linux' ? test : test.skip;

onLinux('neither a call nor an idle second costs more requests, wake-ups or JSON', async () => {
  const { idle, seldom, fullSpeed } = await ledger();
  expect([
    ...excess(idle, IDLE, 'an idle second'),
    ...excess(seldom, SELDOM, 'a call at 50/s'),
    ...excess(fullSpeed, FULL_SPEED, 'a call at full speed'),
  ]).toEqual([]);
});
