import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { passwordsOf } from '../../../../bin/user-passwords';
import { grantScript, grantsOf, userNames } from '../../../../bin/grants';
import {
  scramUsersRequest,
  scramUsersResponse,
} from '../../../../shared/kafka/protocol/scram-users';

/**
 * Grants as a script, and users. test/integration/kafka-security.test.ts shows with a real Kafka
 * that the grants suffice, and are minimal.
 */

const dir = mkdtempSync(join(tmpdir(), 'waypost-acls-'));
afterAll(() => rmSync(dir, { recursive: true }));

/** Runs the script with a `kafka-acls.sh` that writes down its arguments. */
function run(script: string, env: Record<string, string> = {}): string[] {
  const log = join(dir, 'calls');
  writeFileSync(log, '');
  writeFileSync(join(dir, 'kafka-acls.sh'), `#!/bin/sh\necho "$@" >> ${log}\n`, { mode: 0o755 });
  execFileSync('/bin/sh', [], { input: script, env: { PATH: `${dir}:/bin:/usr/bin`, ...env } });
  return readFileSync(log, 'utf8').trimEnd().split('\n');
}

test('the printed script runs as it is, and grants the rights of each service once', () => {
  const grants = grantsOf('prod.', 'wp-');
  const calls = run(grantScript(grants, 'k:9092'));
  const added = calls.flatMap((call) => {
    const [, principal, rights, names] =
      /^--bootstrap-server k:9092 --add --allow-principal (\S+) ((?:--(?!topic|group)\S+ \S+ ?)+)(.*)$/.exec(
        call,
      ) ?? [];
    const operations = [...rights!.matchAll(/--operation (\S+)/g)].map(
      ([, operation]) => operation,
    );
    return [...names!.matchAll(/--(topic|group) (\S+)/g)].map(([, resource, name]) => {
      const prefixed = rights!.includes('--resource-pattern-type prefixed');
      return { principal, resource, name, prefixed, operations };
    });
  });
  const byText = (each: object) => JSON.stringify(Object.entries(each).sort());
  expect(added.map(byText).sort()).toEqual(grants.map(byText).sort());
  expect(calls.length).toBeLessThan(grants.length / 2);
  expect(
    calls
      .filter((call) => call.includes('Create'))
      .every((call) => call.includes('User:wp-topics')),
  ).toBe(true);
});

test('the printed script logs in with the file that COMMAND_CONFIG names', () => {
  const [first] = run(grantScript(grantsOf('', 'wp-'), 'k:9092'), {
    COMMAND_CONFIG: 'my admin.properties',
  });
  expect(first).toMatch(/^--bootstrap-server k:9092 --command-config my admin.properties --add /);
});

test('users without a password in the file get one, which is added to the file', () => {
  const file = join(dir, 'users');
  writeFileSync(file, 'wp-ingest=a=b c');
  const { passwords, generated } = passwordsOf(file, userNames('wp-'));
  expect(passwords.get('wp-ingest')).toBe('a=b c');
  expect(generated).toEqual(userNames('wp-').slice(1));
  expect(passwordsOf(file, userNames('wp-'))).toEqual({ passwords, generated: [] });
  const other = join(dir, 'other');
  passwordsOf(other, ['a']);
  expect(statSync(other).mode & 0o777).toBe(0o600);
});

test('users without a password in a file that cannot be written are named', () => {
  const file = join(dir, 'no-folder', 'users');
  expect(() => passwordsOf(file, ['wp-ingest', 'wp-router'])).toThrow(
    /users has no line for wp-ingest, wp-router, and cannot be written \(.*\): add a line name=password for each$/,
  );
});

test('a line of another form is refused by its number, without its text', () => {
  const file = join(dir, 'wrong');
  writeFileSync(file, 'a=b\n\nplanted-password\n');
  expect(() => passwordsOf(file, ['a'])).toThrow(/wrong: line 3 must be name=password$/);
});

test('a request for users has a salted hash, no password, and errors name the user', async () => {
  const { buffer } = await scramUsersRequest(
    'scram-sha-512',
    new Map([['wp-ingest', 'planted-password']]),
  ).encode();
  expect(buffer.toString('latin1')).toContain('wp-ingest');
  expect(buffer.toString('latin1')).not.toContain('planted-password');
  // header, throttle time, one result with an error: user, code and reason, tagged fields
  const raw = Buffer.concat([
    Buffer.from([0, 0, 0, 0, 0, 2, 10]),
    Buffer.from('wp-ingest'),
    Buffer.from([0, 58, 4]),
    Buffer.from('bad'),
    Buffer.from([0, 0]),
  ]);
  const response = await scramUsersResponse.decode(raw);
  await expect(scramUsersResponse.parse(response)).rejects.toThrow('user wp-ingest: bad');
});
