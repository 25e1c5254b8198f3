import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';

/** Logs three lines once its stdin ends, and then exits. */
const PROGRAM = `
  const { createLog } = require(process.argv[1]);
  const log = createLog('test', 'info');
  process.stdin.resume().on('end', () => {
    for (let i = 0; i < 3; i++) log.info({ i }, 'line.written');
    process.exit(0);
  });
`;
/** A process that still runs after this time hangs. */
const HANGS_MS = 60_000;

let child: ChildProcess;

beforeEach(() => {
  child = spawn(process.execPath, ['-e', PROGRAM, join(ROOT, 'dist/shared/telemetry/log.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: HANGS_MS,
    killSignal: 'SIGKILL',
  });
});

test('a process exits though the reader of its log is gone', async () => {
  const exit = once(child, 'exit');
  child.stdout!.destroy();
  await once(child.stdout!, 'close');
  child.stdin!.end();
  expect(await exit).toEqual([0, null]);
});

test('a process that exits has written every line of its log', async () => {
  let text = '';
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  child.stdin!.end();
  await once(child, 'close');
  expect(text.trim().split('\n')).toHaveLength(3);
});
