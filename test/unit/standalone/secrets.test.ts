import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localSecrets, storedSecrets } from '../../../deploy/standalone/secrets';
import { volumeWarning } from '../../../deploy/standalone/volume';

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
  expect(storedSecrets(dir, { WAYPOST_SECRET_KEY: 'given' })).toEqual({ WAYPOST_SECRET_KEY: 'given' });
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
  const mounts = points.map((point, i) => `${i} 1 0:${i} / ${point} rw - overlay overlay rw`).join('\n');
  expect(volumeWarning(folder, mounts) === undefined).toBe(safe);
});
