import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { defined } from '../../shared/collections/defined';
import { AppError } from '../../shared/runtime/errors';
import { ROOT } from '../../shared/runtime/repo-root';
import { type Settings } from '../../shared/runtime/settings';
import { createConnections, download, sha256Of } from './download';
import { downloadProblem } from './download-problem';
import { fileOf, type Jar, type JarList, kafkaVersion, readJarList } from './jar-list';
import { copyJars, hasMaven } from './maven';
import { createProgress, megabytes, type Note } from '../progress';

/**
 * Brings the jars of Kafka once for each content of deploy/kafka/jars.txt: by Maven, otherwise by
 * direct downloads. The folder appears under its name only when it holds exactly these files. Until
 * then they are collected in a folder with another name, so that the next start continues an
 * interrupted one. If two starts do so at the same time, the first wins.
 */

const KAFKA = join(ROOT, 'deploy', 'kafka');
const TARGET = join(KAFKA, 'target');
/** At a time. */
const DOWNLOADS = 4;

/** The settings that decide how jars are brought. */
export type JarSettings = Pick<Settings, 'WAYPOST_OFFLINE' | 'WAYPOST_MAVEN_MIRROR'>;

/** Names the sources and the folder of the jars; tests replace it. */
export interface JarPlace {
  list: JarList;
  target: string;
  hasMaven(): Promise<boolean>;
  /** before a failed download is tried again, ms; default: of download.ts */
  pausesMs?: readonly number[];
}

/**
 * Returns the folder of the jars, and brings them if it is missing.
 * @param note receives the progress, because the first time takes long
 * @throws AppError `cannot_start` with a sentence that says what to do
 */
export async function kafkaJars(
  settings: JarSettings,
  note: Note,
  place: JarPlace = { list: readJarList(), target: TARGET, hasMaven },
): Promise<string> {
  const folder = join(place.target, `lib-${place.list.id}`);
  if (existsSync(folder)) return folder;
  const unfinished = `${folder}.unfinished`;
  try {
    mkdirSync(unfinished, { recursive: true });
    await bring({ settings, note, place, unfinished });
    keepOnly(unfinished, place.list.jars);
    renameSync(unfinished, folder);
  } catch (error) {
    // Another start was faster, and has renamed the folder.
    if (existsSync(folder)) return folder;
    if (error instanceof AppError) throw error;
    const size = megabytes(bytesOf(place.list.jars));
    const attempt = { host: hostOf(settings), folder: place.target, size, proxy: proxyVariable() };
    throw new AppError('cannot_start', downloadProblem(error, attempt), false, { cause: error });
  }
  return folder;
}

interface Work {
  settings: JarSettings;
  note: Note;
  place: JarPlace;
  unfinished: string;
}

async function bring({ settings, note, place, unfinished }: Work): Promise<void> {
  const { jars } = place.list;
  let missing = await withoutPresent(jars, unfinished);
  if (missing.length === 0) return;
  const here = jars.length - missing.length;
  const version = kafkaVersion(place.list);
  // An explicit mirror has precedence over the mirrors that Maven knows.
  if (settings.WAYPOST_MAVEN_MIRROR === undefined && (await place.hasMaven())) {
    note(
      `bringing Apache Kafka ${version} by Maven (${String(jars.length)} files, ` +
        `${megabytes(bytesOf(jars))}, once)`,
    );
    const complaint = await copyJars(join(KAFKA, 'pom.xml'), unfinished, {
      offline: settings.WAYPOST_OFFLINE,
    });
    missing = await withoutPresent(jars, unfinished);
    if (missing.length === 0) return;
    if (!settings.WAYPOST_OFFLINE) {
      note(`Maven could not bring all of it: ${complaint ?? 'files have other checksums'}`);
    }
  }
  if (settings.WAYPOST_OFFLINE) {
    throw new AppError(
      'cannot_start',
      'The jars of Kafka are not on this machine, and WAYPOST_OFFLINE forbids downloads: ' +
        'start once without WAYPOST_OFFLINE, or copy deploy/kafka/target from a machine that ' +
        'has it.',
    );
  }
  note(
    here > 0
      ? `continuing to download Apache Kafka ${version} (${String(missing.length)} of ` +
          `${String(jars.length)} files, ${megabytes(bytesOf(missing))})`
      : `downloading Apache Kafka ${version} (${String(missing.length)} files, ` +
          `${megabytes(bytesOf(missing))}, once)`,
  );
  await downloadAll(missing, { settings, note, place, unfinished });
}

async function downloadAll(
  jars: Jar[],
  { settings, note, place, unfinished }: Work,
): Promise<void> {
  const artifactUrl = await loadArtifactUrl();
  const connections = createConnections();
  const progress = createProgress({ what: 'Apache Kafka', bytes: bytesOf(jars), note });
  let arrived = 0;
  const onBytes = (count: number) => {
    arrived += count;
    progress(arrived);
  };
  const waiting = [...jars];
  const work = async () => {
    for (let jar = waiting.shift(); jar !== undefined; jar = waiting.shift()) {
      const url = await artifactUrl(jar, settings.WAYPOST_MAVEN_MIRROR);
      const wanted = { url, file: join(unfinished, fileOf(jar)), sha256: jar.sha256 };
      await download(wanted, {
        connections,
        onBytes,
        ...defined({ pausesMs: place.pausesMs }),
      });
    }
  };
  try {
    await Promise.all(Array.from({ length: DOWNLOADS }, work));
  } finally {
    // The first failure ends the others.
    waiting.length = 0;
    await connections.destroy();
  }
}

/** Returns the address of a jar in a repository, by default Maven Central. */
type ArtifactUrl = (jar: Jar, repository?: string) => Promise<string>;
const ARTIFACT_URL: string = 'mvn-artifact-url';

/**
 * Loads the package only here. It is a development dependency: an installation without those does
 * not have it.
 */
async function loadArtifactUrl(): Promise<ArtifactUrl> {
  const loaded: unknown = await import(ARTIFACT_URL).catch((error: unknown) => {
    const remedy =
      'run npm ci, install Maven, or copy deploy/kafka/target from a machine that has it.';
    throw new AppError(
      'cannot_start',
      `The package ${ARTIFACT_URL} is not installed: ${remedy}`,
      false,
      {
        cause: error,
      },
    );
  });
  return (loaded as { default: ArtifactUrl }).default;
}

/** Returns the jars that the folder does not have with the right content. */
async function withoutPresent(jars: Jar[], folder: string): Promise<Jar[]> {
  const missing: Jar[] = [];
  for (const jar of jars) {
    const file = join(folder, fileOf(jar));
    if (!existsSync(file) || (await sha256Of(file)) !== jar.sha256) missing.push(jar);
  }
  return missing;
}

/** Removes everything else: parts of interrupted downloads, and files that Maven added. */
function keepOnly(folder: string, jars: Jar[]): void {
  const wanted = new Set(jars.map(fileOf));
  for (const name of readdirSync(folder)) {
    if (!wanted.has(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}

const bytesOf = (jars: Jar[]): number => jars.reduce((sum, { bytes }) => sum + bytes, 0);

function hostOf({ WAYPOST_MAVEN_MIRROR }: JarSettings): string {
  return WAYPOST_MAVEN_MIRROR === undefined ? 'Maven Central' : new URL(WAYPOST_MAVEN_MIRROR).host;
}

/**
 * Returns the name of the variable that holds the proxy for downloads; undefined without a proxy.
 */
function proxyVariable(): string | undefined {
  const names = ['https_proxy', 'HTTPS_PROXY', 'http_proxy', 'HTTP_PROXY'];
  return names.find((name) => process.env[name]);
}
