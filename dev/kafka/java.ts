import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { compact } from '../../shared/collections/defined';
import { toolEnvironment } from '../process-environment';

/** Finds the Java of this machine by asking for its version. */

/** The minimum for Kafka 4. */
const OLDEST_JAVA = 17;
/** Long enough for a cold JVM on a busy machine. */
const ANSWER_MS = 20_000;

/**
 * Returns the command of a Java that is new enough, from JAVA_HOME or the PATH; undefined if there
 * is none.
 */
export async function findJava(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const candidates = compact([
    env.JAVA_HOME ? join(env.JAVA_HOME, 'bin', 'java') : undefined,
    'java',
  ]);
  for (const command of candidates) {
    if (await isNewEnough(command, env)) return command;
  }
  return undefined;
}

/** Returns whether this command is a Java on which Kafka runs. */
export async function isNewEnough(
  command: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<boolean> {
  const version = majorVersion((await commandOutput(command, ['-version'], env)) ?? '');
  return version !== undefined && version >= OLDEST_JAVA;
}

/** @param text what `java -version` prints */
export function majorVersion(text: string): number | undefined {
  const version = /version "(?:1\.)?(\d+)/.exec(text)?.[1];
  return version === undefined ? undefined : Number(version);
}

/**
 * Returns the output of a command (Java prints to stderr), or undefined if it is missing or fails.
 */
export async function commandOutput(
  command: string,
  args: string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, {
      env: toolEnvironment(env),
      timeout: ANSWER_MS,
    });
    return stdout + stderr;
  } catch {
    return undefined;
  }
}
