import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runService, takeSecrets, takeStoredKey } from '../../../bin/run-service';
import { copyKey, localSecrets, storedSecrets } from '../../../dev/secrets';
import { volumeWarning } from '../../../dev/kafka/volume';
import { loadSettings } from '../../../shared/runtime/settings';

/** The secrets of a data dir, and the warning about a data dir that goes with its container. */

let dir: string;
beforeEach(() => (dir = join(mkdtempSync(join(tmpdir(), 'waypost-secrets-')), 'data')));
afterEach(() => rmSync(join(dir, '..'), { recursive: true }));

test('generated secrets are the same at the next start', () => {
  const first = localSecrets(dir, {});
  expect(Buffer.from(first.WAYPOST_SECRET_KEY, 'base64')).toHaveLength(32);
  expect(localSecrets(dir, {})).toEqual(first);
  expect(storedSecrets(dir, {})).toEqual(first);
});

test('a process that must not generate secrets takes those that exist and creates nothing', () => {
  expect(storedSecrets(dir, {})).toEqual({});
  expect(existsSync(dir)).toBe(false);
  expect(storedSecrets(dir, { WAYPOST_SECRET_KEY: 'given' })).toEqual({
    WAYPOST_SECRET_KEY: 'given',
  });
});

test('the command `secrets` creates secrets once, and gives another folder the key', async () => {
  const folder = join(dir, '..', 'delivery');
  const run = () => runService(['secrets', folder], { WAYPOST_DATA_DIR: dir });
  await run();
  const { WAYPOST_SECRET_KEY } = storedSecrets(dir, {});
  expect(readdirSync(folder)).toEqual(['secret-key']);
  expect(statSync(join(folder, 'secret-key')).mode & 0o777).toBe(0o600);
  expect(storedSecrets(folder, {})).toEqual({ WAYPOST_SECRET_KEY });
  await run();
  expect(storedSecrets(folder, {})).toEqual({ WAYPOST_SECRET_KEY });
});

test('the command `secrets` copies the key of an earlier installation', () => {
  const folder = join(dir, '..', 'delivery');
  mkdirSync(dir);
  writeFileSync(join(dir, 'secret-key'), 'an existing key\n');
  localSecrets(dir, {});
  copyKey(dir, folder);
  expect(storedSecrets(folder, {})).toEqual({ WAYPOST_SECRET_KEY: 'an existing key' });
});

test('a key from the environment is stored in no folder', async () => {
  const folder = join(dir, '..', 'delivery');
  const WAYPOST_SECRET_KEY = Buffer.alloc(32).toString('base64');
  await runService(['secrets', folder], { WAYPOST_DATA_DIR: dir, WAYPOST_SECRET_KEY });
  expect([readdirSync(dir), existsSync(folder)]).toEqual([['admin-token'], false]);
});

test('a service takes only the secrets that it needs from a data dir with more', () => {
  const { WAYPOST_SECRET_KEY } = localSecrets(dir, {});
  const env: NodeJS.ProcessEnv = { WAYPOST_DATA_DIR: dir, WAYPOST_GENERATE_SECRETS: 'false' };
  const note = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  takeSecrets('delivery', { missing: ['WAYPOST_SECRET_KEY'], env, settings: loadSettings(env) });
  note.mockRestore();
  expect(env).toEqual({
    WAYPOST_DATA_DIR: dir,
    WAYPOST_GENERATE_SECRETS: 'false',
    WAYPOST_SECRET_KEY,
  });
});

test('a command beside control takes the key that control has stored, and no other secret', () => {
  const { WAYPOST_SECRET_KEY } = localSecrets(dir, {});
  const note = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  // Docker Compose sets what `.env` does not name to nothing.
  const stored: NodeJS.ProcessEnv = { WAYPOST_DATA_DIR: dir, WAYPOST_SECRET_KEY: '' };
  takeStoredKey(stored);
  expect(stored).toEqual({ WAYPOST_DATA_DIR: dir, WAYPOST_SECRET_KEY });
  const given = Buffer.alloc(32).toString('base64');
  const own: NodeJS.ProcessEnv = { WAYPOST_DATA_DIR: dir, WAYPOST_SECRET_KEY: given };
  takeStoredKey(own);
  expect(own.WAYPOST_SECRET_KEY).toBe(given);
  const none: NodeJS.ProcessEnv = { WAYPOST_DATA_DIR: join(dir, 'empty') };
  takeStoredKey(none);
  expect(none).not.toHaveProperty('WAYPOST_SECRET_KEY');
  note.mockRestore();
});

test('a data dir that cannot be written causes one sentence that names it', () => {
  writeFileSync(dir, 'a file, in which no folder can be');
  expect(() => localSecrets(join(dir, 'below'), {})).toThrow(
    /^The data dir .*below cannot be written \(ENOTDIR\): mount/,
  );
});

test.each([
  ['the root of the container alone', '/data', ['/', '/proc', '/etc/hosts'], false],
  ['a volume at the folder', '/data', ['/', '/data'], true],
  ['a volume above the folder', '/mnt/a volume/data', ['/', '/mnt/a\\040volume'], true],
  ['a volume at a folder with a similar name', '/data', ['/', '/data2', '/dat'], false],
])('a data dir is safe with %s: %s among %j is %s', (_, folder, points, safe) => {
  const mounts = points
    .map((point, i) => `${i} 1 0:${i} / ${point} rw - overlay overlay rw`)
    .join('\n');
  expect(volumeWarning(folder, mounts) === undefined).toBe(safe);
});
