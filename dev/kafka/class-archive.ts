import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { commandOutput, majorVersion } from './java';

/**
 * Kafka's classes as the JVM of this machine has loaded and linked them. A JVM that maps them takes
 * half of the CPU for its start. From Java 25 on an archive also holds how often each method was
 * called (https://openjdk.org/jeps/483, https://openjdk.org/jeps/515); an older one has classes
 * only (https://docs.oracle.com/en/java/javase/17/vm/class-data-sharing.html). A JVM that does not
 * accept an archive starts without it.
 */

/** The first Java with a cache that its own option names. */
const WITH_AOT_CACHE = 25;

/** The archive of one Java and one set of jars. */
export interface ClassArchive {
  file: string;
  /** arguments of a JVM that uses it; empty while there is none */
  use(): string[];
  /** arguments of a JVM that writes an archive to a file when it ends */
  write(file: string): string[];
}

/** @param jars the folder of the jars; the archive lies beside it */
export async function classArchive(java: string, jars: string): Promise<ClassArchive> {
  const version = (await commandOutput(java, ['-version'])) ?? '';
  const id = createHash('sha256').update(`${version} ${process.arch} ${jars}`).digest('hex');
  const file = join(dirname(jars), `classes-${id.slice(0, 12)}`);
  if ((majorVersion(version) ?? 0) >= WITH_AOT_CACHE) {
    return {
      file,
      use: () => (existsSync(file) ? [`-XX:AOTCache=${file}`, '-Xlog:aot*=off'] : []),
      write: (to) => [`-XX:AOTCacheOutput=${to}`, '-Xlog:aot*=off'],
    };
  }
  return {
    file,
    use: () => (existsSync(file) ? [`-XX:SharedArchiveFile=${file}`] : []),
    write: (to) => [`-XX:ArchiveClassesAtExit=${to}`, '-Xlog:cds*=off'],
  };
}

/** A process that makes an archive for longer than this was killed. */
const ABANDONED_MS = 10 * 60_000;

/**
 * Makes the archive, if it is missing and no other process makes it.
 * @param run runs a broker in a folder until it is usable, with these arguments of its JVM
 */
export async function makeClassArchive(
  archive: ClassArchive,
  run: (dir: string, jvmArguments: string[]) => Promise<void>,
): Promise<void> {
  if (existsSync(archive.file)) return;
  const dir = `${archive.file}.unfinished`;
  const since = statSync(dir, { throwIfNoEntry: false })?.mtimeMs;
  if (since !== undefined) {
    if (Date.now() - since < ABANDONED_MS) return;
    rmSync(dir, { recursive: true, force: true });
  }
  // It fails if another process was faster.
  mkdirSync(dir);
  try {
    const unfinished = join(dir, 'classes');
    await run(join(dir, 'kafka'), archive.write(unfinished));
    renameSync(unfinished, archive.file);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
