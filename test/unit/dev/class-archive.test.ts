import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { classArchive, makeClassArchive } from '../../../dev/kafka/class-archive';

const dir = mkdtempSync(join(tmpdir(), 'waypost-classes-'));
const jars = join(dir, 'lib-1');
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Returns a command that says it is this version of Java. */
function java(version: string): string {
  const command = join(dir, `java-${version}`);
  writeFileSync(command, `#!/bin/sh\necho 'openjdk version "${version}" 2026-01-20' >&2\n`);
  chmodSync(command, 0o755);
  return command;
}

/** Makes the archive; returns whether a broker ran for it. */
async function make(archive: Awaited<ReturnType<typeof classArchive>>): Promise<boolean> {
  let ran = false;
  await makeClassArchive(archive, (_dir, jvmArguments) => {
    ran = true;
    const file = jvmArguments[0]?.split('=').at(-1) ?? '';
    writeFileSync(file, 'classes');
    return Promise.resolve();
  });
  return ran;
}

test.each([
  ['17.0.15', '-XX:SharedArchiveFile='],
  ['25.0.2', '-XX:AOTCache='],
])('Java %s starts with %s once there is an archive', async (version, argument) => {
  const archive = await classArchive(java(version), jars);
  expect(archive.use()).toEqual([]);
  expect(await make(archive)).toBe(true);
  expect(archive.use()[0]).toBe(argument + archive.file);
  expect(await make(archive)).toBe(false);
});

test('an archive is of one Java and one set of jars', async () => {
  const [one, newer, others] = [
    await classArchive(java('21.0.1'), jars),
    await classArchive(java('21.0.2'), jars),
    await classArchive(java('21.0.1'), join(dir, 'lib-2')),
  ];
  expect(new Set([one.file, newer.file, others.file]).size).toBe(3);
});

test('what another process makes is left to it, unless that was killed', async () => {
  const archive = await classArchive(java('18.0.1'), jars);
  const unfinished = `${archive.file}.unfinished`;
  mkdirSync(unfinished);
  expect(await make(archive)).toBe(false);
  const longAgo = Date.now() / 1000 - 3600;
  utimesSync(unfinished, longAgo, longAgo);
  expect(await make(archive)).toBe(true);
  expect(existsSync(unfinished)).toBe(false);
});

test('a failure leaves nothing behind', async () => {
  const archive = await classArchive(java('19.0.1'), jars);
  const failed = makeClassArchive(archive, () => Promise.reject(new Error('no memory')));
  await expect(failed).rejects.toThrow('no memory');
  expect(existsSync(`${archive.file}.unfinished`)).toBe(false);
  expect(archive.use()).toEqual([]);
});
