import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { requireNoVolume, volumeOf } from '../../../dev/kafka/broker-folder';
import { dataDirProblem, secureDataDir } from '../../../dev/own-data-dir';

/** What another user of the machine, or a copy, has left in a data dir before `npm start`. */

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'waypost-data-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true });
});

const OWN = 1_000;
test.each<[string, { uid: number; mode: number }, RegExp | undefined]>([
  ['that only its owner may read is used', { uid: OWN, mode: 0o40700 }, undefined],
  ['that others may read is used', { uid: OWN, mode: 0o40755 }, undefined],
  ['of another user is refused', { uid: 1_001, mode: 0o40700 }, /belongs to another user/],
  ['of root is refused to others', { uid: 0, mode: 0o40755 }, /belongs to another user/],
  ['that its group may write is refused', { uid: OWN, mode: 0o40770 }, /chmod go-w/],
  ['that all may write is refused', { uid: OWN, mode: 0o41777 }, /chmod go-w/],
])('a data dir %s', (_, stat, problem) => {
  const found = dataDirProblem('.waypost', stat, OWN);
  if (problem === undefined) expect(found).toBeUndefined();
  else expect(found).toMatch(problem);
});

test('a data dir that others may write is refused until it is closed to them', () => {
  chmodSync(dir, 0o777);
  expect(() => secureDataDir(dir)).toThrow(/Other users can write the data dir/);
  chmodSync(dir, 0o755);
  secureDataDir(dir);
  secureDataDir(join(dir, 'missing'));
});

test('the secrets in a data dir are closed to other users, and a link is left alone', () => {
  mkdirSync(join(dir, 'kafka'));
  const files = ['admin-token', 'kafka/password', 'kafka/server.properties', 'elsewhere'];
  for (const name of files) {
    writeFileSync(join(dir, name), 'a secret');
    chmodSync(join(dir, name), 0o644);
  }
  symlinkSync(join(dir, 'elsewhere'), join(dir, 'secret-key'));
  secureDataDir(dir);
  const modes = files.map((name) => statSync(join(dir, name)).mode & 0o777);
  expect(modes).toEqual([0o600, 0o600, 0o600, 0o644]);
});

test('a file names only a volume that Waypost has made', () => {
  const made = volumeOf(dir);
  expect(volumeOf(dir)).toBe(made);
  expect(readFileSync(join(dir, 'volume'), 'utf8')).toBe(`${made}\n`);
  for (const name of ['/etc', 'postgres-data', `${made}x`, `${made}:/x`, '--privileged', '']) {
    writeFileSync(join(dir, 'volume'), `${name}\n`);
    expect(() => volumeOf(dir)).toThrow(/volume does not name a volume of Waypost/);
    expect(() => requireNoVolume(dir)).toThrow(/volume does not name a volume of Waypost/);
  }
});
