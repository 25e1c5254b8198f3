import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { arch, cpus, platform, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { findJava } from '../../deploy/standalone/java';
import { ROOT } from '../../shared/service/repo-root';
import { type Machine } from './report/figures';

/** Describes the machine of the measurement. */
export async function describeMachine(): Promise<Machine> {
  return {
    cores: cpus().length,
    cpu: cpus()[0]?.model ?? 'unknown',
    memoryGb: Math.round(totalmem() / 1024 ** 3),
    system: `${platform()} ${release()} ${arch()}`,
    node: process.version,
    java: await javaVersion(),
    kafka: kafkaVersion(),
  };
}

async function javaVersion(): Promise<string> {
  const java = await findJava();
  if (java === undefined) return 'in a container';
  // `java -version` prints to stderr, `--version` to stdout.
  return execFileSync(java, ['--version'], { encoding: 'utf8' }).split('\n', 1)[0] ?? 'unknown';
}

/** Returns the pinned version of the embedded broker's jars. */
function kafkaVersion(): string {
  const pom = readFileSync(join(ROOT, 'deploy', 'kafka', 'pom.xml'), 'utf8');
  return /<artifactId>kafka_[\d.]+<\/artifactId>\s*<version>([^<]+)</.exec(pom)?.[1] ?? 'unknown';
}
