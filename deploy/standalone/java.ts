import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../../shared/service/errors';

/** Finds the Java and the Maven of this machine by asking for their versions. */

const run = promisify(execFile);

/** The minimum for Kafka 4. */
const OLDEST_JAVA = 17;
/** Long enough for a cold JVM on a busy machine. */
const ANSWER_MS = 20_000;

/** The remedy if no broker can start. Two code paths end with it. */
export const HOW_TO_GET_KAFKA =
  'Install Java 17 or newer and Maven (Debian: apt-get install openjdk-17-jre-headless maven; macOS: brew install openjdk maven), ' +
  'or start Docker, or set KAFKA_BROKERS to the address of a Kafka that runs.';

/** Returns the command of a Java that is new enough, from JAVA_HOME or the PATH; undefined if there is none. */
export async function findJava(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const candidates = [...(env.JAVA_HOME ? [join(env.JAVA_HOME, 'bin', 'java')] : []), 'java'];
  for (const command of candidates) {
    const text = await output(command, ['-version'], env);
    const version = /version "(?:1\.)?(\d+)/.exec(text ?? '')?.[1];
    if (version !== undefined && Number(version) >= OLDEST_JAVA) return command;
  }
  return undefined;
}

/** Returns whether `mvn` runs. */
export async function hasMaven(env: NodeJS.ProcessEnv = process.env): Promise<boolean> {
  return (await output('mvn', ['-v'], env)) !== undefined;
}

/**
 * Runs Maven in batch mode.
 * @throws AppError `cannot_start` with Maven's first error
 */
export async function maven(args: string[], env: NodeJS.ProcessEnv = process.env): Promise<void> {
  try {
    await run('mvn', ['-q', '-B', ...args], { env, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    const text = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    const complaint = text.split('\n').find((line) => line.startsWith('[ERROR]')) ?? text.split('\n', 1)[0] ?? '';
    throw new AppError(
      'cannot_start',
      `Maven could not bring the jars of Kafka: ${complaint.replace('[ERROR] ', '')} (it needs Maven Central the first time).`,
    );
  }
}

/** Returns the output of a command (Java prints to stderr), or undefined if it is missing or fails. */
async function output(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  try {
    const { stdout, stderr } = await run(command, args, { env, timeout: ANSWER_MS });
    return stdout + stderr;
  } catch {
    return undefined;
  }
}
