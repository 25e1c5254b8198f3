import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { AppError } from '../../shared/service/errors';
import { hasMaven, HOW_TO_GET_KAFKA, maven } from './java';
import { ROOT } from '../../shared/service/repo-root';

/**
 * Downloads the jars of Kafka once for each version of deploy/kafka/pom.xml. The folder appears under its name only
 * when complete: Maven fills a folder with another name, which is then renamed. If two starts do so at the same time,
 * the first wins.
 */

const POM = join(ROOT, 'deploy', 'kafka', 'pom.xml');

/**
 * Returns the folder of the jars, and lets Maven fill it if it is missing.
 * @param note receives progress texts, because the first time takes long
 * @throws AppError `cannot_start` if Maven is missing or fails
 */
export async function kafkaJars(note: (text: string) => void): Promise<string> {
  const hash = createHash('sha256').update(readFileSync(POM)).digest('hex').slice(0, 12);
  const target = join(ROOT, 'deploy', 'kafka', 'target');
  const folder = join(target, `lib-${hash}`);
  if (existsSync(folder)) return folder;

  if (!(await hasMaven())) {
    throw new AppError(
      'cannot_start',
      `Maven is needed once, to bring the jars of Kafka, and was not found. ${HOW_TO_GET_KAFKA}`,
    );
  }
  note('bringing Apache Kafka by Maven (once)');
  mkdirSync(target, { recursive: true });
  const unfinished = `${folder}.${String(process.pid)}`;
  try {
    await maven([
      '-f',
      POM,
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${unfinished}`,
    ]);
    renameSync(unfinished, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return folder;
}
