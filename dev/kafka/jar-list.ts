import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';

/**
 * Reads the list of the jars of the embedded broker, with the checksum of each.
 * `node dist/tools/pins/main.js` writes it.
 */

/** One jar. */
export interface Jar {
  groupId: string;
  artifactId: string;
  version: string;
  bytes: number;
  /** in hex */
  sha256: string;
}

/** All jars of a version of Kafka. */
export interface JarList {
  jars: Jar[];
  /** differs for each content of the list */
  id: string;
}

export const JAR_LIST = join(ROOT, 'deploy', 'kafka', 'jars.txt');
const LINE =
  /^(?<sha256>[0-9a-f]{64}) +(?<bytes>\d+) (?<groupId>[\w.-]+):(?<artifactId>[\w.-]+):(?<version>[\w.-]+)$/;

/**
 * Parses the list: a line for each jar, and comments after `#`. @throws Error for any other line
 */
export function parseJarList(text: string): JarList {
  const jars = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line): Jar => {
      const {
        sha256 = '',
        bytes,
        groupId = '',
        artifactId = '',
        version = '',
      } = LINE.exec(line)?.groups ?? {};
      if (sha256 === '') {
        throw new Error(
          `This line of jars.txt is none of "sha256 bytes group:artifact:version": ${line}`,
        );
      }
      return { groupId, artifactId, version, bytes: Number(bytes), sha256 };
    });
  return { jars, id: createHash('sha256').update(text).digest('hex').slice(0, 12) };
}

/** Returns the list of this version of Waypost. */
export const readJarList = (): JarList => parseJarList(readFileSync(JAR_LIST, 'utf8'));

/** Returns the name of the file, as Maven names it. */
export const fileOf = ({ artifactId, version }: Jar): string => `${artifactId}-${version}.jar`;

/** Returns the version of Kafka. */
export const kafkaVersion = ({ jars }: JarList): string =>
  jars.find(({ artifactId }) => artifactId.startsWith('kafka_'))?.version ?? 'unknown';
