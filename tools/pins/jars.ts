import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sha256Of } from '../../dev/kafka/download';
import { copyJars } from '../../dev/kafka/maven';

/** Makes the list of the jars of a POM, with checksums, from the files that Maven copies. */

const HEADER = `# The jars of the embedded broker: SHA-256, bytes, group:artifact:version. \`node dist/tools/pins/main.js jars\` writes this file from
# pom.xml by Maven. A change gives the folder of the jars another name, so that old and new never mix.
`;

/** @throws Error with the first error of Maven */
export async function jarList(pom: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-jars-'));
  try {
    const complaint = await copyJars(pom, folder, { asRepository: true });
    if (complaint !== undefined) throw new Error(`Maven failed: ${complaint}`);
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith('.jar'),
    );
    const lines = await Promise.all(files.map((file) => lineOf(folder, file)));
    return `${HEADER}${lines.sort((a, b) => (artifactOf(a) < artifactOf(b) ? -1 : 1)).join('\n')}\n`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Returns a POM with another version of Kafka. @throws Error if it names none */
export function withKafka(pom: string, version: string): string {
  const named = /(<artifactId>kafka_[\d.]+<\/artifactId>\s*<version>)[^<]+/;
  if (!named.test(pom)) throw new Error('the POM names no version of Kafka');
  return pom.replace(named, `$1${version}`);
}

/** @param file in the layout of a repository: group/parts/artifact/version/name */
async function lineOf(folder: string, file: string): Promise<string> {
  const parts = file.split('/');
  const [version = '', artifact = ''] = [parts.at(-2), parts.at(-3)];
  const group = parts.slice(0, -3).join('.');
  const path = join(folder, file);
  const bytes = String(statSync(path).size).padStart(8);
  return `${await sha256Of(path)} ${bytes} ${group}:${artifact}:${version}`;
}

const artifactOf = (line: string): string => line.slice(line.lastIndexOf(' ') + 1);
