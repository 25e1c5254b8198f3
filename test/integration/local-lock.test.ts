import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive, ownId, processId } from '../../shared/runtime/process-id';
import { takeLock } from '../../shared/runtime/data-dir';
import { localSecrets } from '../../dev/secrets';
import { eventually } from '../support/eventually';

let dir: string;
beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'waypost-lock-'))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Leaves the lock of another process. @returns its file */
function leaveLock(text: string): string {
  const folder = join(dir, 'owner');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'theirs');
  writeFileSync(file, text);
  return file;
}

describe('the lock of a data dir', () => {
  test('is refused while its owner runs, with one sentence that names the owner', () => {
    const lock = takeLock(dir);
    expect(() => takeLock(dir)).toThrow(
      new RegExp(`pid ${String(process.pid)}\\).*WAYPOST_DATA_DIR`),
    );
    lock.release();
    expect(readdirSync(dir)).toEqual([]);
    expect(takeLock(dir).takenOver).toBe(false);
  });

  test('is taken over from an owner that was killed', async () => {
    const owner = spawn('sleep', ['60']);
    await once(owner, 'spawn');
    const id = processId(owner.pid!)!;
    leaveLock(JSON.stringify(id));
    expect(() => takeLock(dir)).toThrow(String(owner.pid));

    owner.kill('SIGKILL');
    await eventually(() => expect(isAlive(id)).toBe(false));
    expect(takeLock(dir).takenOver).toBe(true);
    const [file, ...others] = readdirSync(join(dir, 'owner'));
    expect(others).toEqual([]);
    expect(JSON.parse(readFileSync(join(dir, 'owner', file!), 'utf8'))).toEqual(ownId());
  });

  test('is not held by another process with the pid of a dead owner', () => {
    leaveLock(JSON.stringify({ pid: process.pid, started: 'another time' }));
    expect(takeLock(dir).takenOver).toBe(true);
  });

  test.each(['', '{', '{"pid":"x"}'])('is not held by a file with the text %j', (text) => {
    leaveLock(text);
    expect(takeLock(dir).takenOver).toBe(true);
  });

  test('is not released after another process has taken it', () => {
    const lock = takeLock(dir);
    rmSync(join(dir, 'owner'), { recursive: true });
    const file = leaveLock('theirs');
    lock.release();
    expect(readFileSync(file, 'utf8')).toBe('theirs');
  });
});

test('a new data dir is closed to other users', () => {
  takeLock(join(dir, 'new', 'data')).release();
  expect(statSync(join(dir, 'new', 'data')).mode & 0o777).toBe(0o700);
});

describe('the generated secrets', () => {
  test('are created once, readable by their owner alone', () => {
    const first = localSecrets(dir, {});
    expect(Buffer.from(first.WAYPOST_SECRET_KEY, 'base64')).toHaveLength(32);
    expect(first.WAYPOST_ADMIN_TOKEN.length).toBeGreaterThanOrEqual(32);
    for (const file of ['admin-token', 'secret-key']) {
      expect(statSync(join(dir, file)).mode & 0o777).toBe(0o600);
    }
    expect(localSecrets(dir, {})).toEqual(first);
  });

  test('give way to the environment, whose values are not stored', () => {
    const given = localSecrets(dir, { WAYPOST_ADMIN_TOKEN: 'a token of their own' });
    expect(given.WAYPOST_ADMIN_TOKEN).toBe('a token of their own');
    expect(() => statSync(join(dir, 'admin-token'))).toThrow('ENOENT');
  });
});
