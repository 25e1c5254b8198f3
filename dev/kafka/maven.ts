import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { compact } from '../../shared/collections/defined';
import { commandOutput } from './java';
import { toolEnvironment } from '../process-environment';

/** Runs the Maven of this machine, which knows the settings and the mirrors of its user. */

/** Returns whether `mvn` runs. */
export async function hasMaven(): Promise<boolean> {
  return (await commandOutput('mvn', ['-v'])) !== undefined;
}

/**
 * Copies the jars of a POM into a folder.
 * @param options `offline`: let Maven use only the files that it has already; `asRepository`: in
 *   folders by group and version
 * @returns the first error of Maven, or undefined if all jars were copied
 */
export async function copyJars(
  pom: string,
  folder: string,
  { offline = false, asRepository = false }: { offline?: boolean; asRepository?: boolean },
): Promise<string | undefined> {
  const goal = [
    'dependency:copy-dependencies',
    '-DincludeScope=runtime',
    `-DoutputDirectory=${folder}`,
  ];
  if (asRepository) goal.push('-Dmdep.useRepositoryLayout=true');
  try {
    await promisify(execFile)(
      'mvn',
      compact(['-q', '-B', offline ? '-o' : undefined, '-f', pom, ...goal]),
      {
        env: toolEnvironment(),
        maxBuffer: 16 * 1024 * 1024,
      },
    );
    return undefined;
  } catch (error) {
    const text = error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    const complaint =
      text.split('\n').find((line) => line.startsWith('[ERROR]')) ?? text.split('\n', 1)[0] ?? '';
    return complaint.replace('[ERROR] ', '');
  }
}
