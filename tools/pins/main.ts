import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { JAR_LIST } from '../../dev/kafka/jar-list';
import { ROOT } from '../../shared/runtime/repo-root';
import { runMain } from '../harness/run-main';
import { foreignPins, missingPlatforms, pinnedImages, repin, unresolvedTags } from './images';
import { jarList, withKafka } from './jars';

/**
 * Keeps the versions that are pinned outside package-lock.json:
 *
 *     node dist/tools/pins/main.js images            writes the digest that each tag has now (needs
 *                                                    docker)
 *     node dist/tools/pins/main.js images --check    pulls each image by its digest, and fails if
 *                                                    one has none or does not pull
 *     node dist/tools/pins/main.js jars [VERSION]    writes the list of the broker's jars from
 *                                                    pom.xml; with VERSION, first puts that version
 *                                                    of Kafka into it (needs Maven)
 */

const FILES = [
  'Dockerfile',
  'docker-compose.yml',
  'deploy/helm/waypost/values.yaml',
  '.github/workflows/containers.yml',
];
const POM = join(ROOT, 'deploy', 'kafka', 'pom.xml');
const RESOLVE = '`node dist/tools/pins/main.js images`';
const USAGE = 'Usage: node dist/tools/pins/main.js images [--check] | jars [VERSION]';

const docker = (...args: string[]) =>
  execFileSync('docker', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** Every image of the repository, once: by its digest, or by its tag if it waits for one. */
function allImages(): string[] {
  const texts = FILES.map((file) => readFileSync(join(ROOT, file), 'utf8'));
  const pinned = texts.flatMap(pinnedImages).map(({ tag, digest }) => `${tag}@${digest}`);
  return [...new Set([...pinned, ...texts.flatMap(unresolvedTags)])];
}

function updateImages(): void {
  const digests = new Map<string, string>();
  for (const image of allImages()) {
    const [tag = ''] = image.split('@');
    const digest = docker(
      'buildx',
      'imagetools',
      'inspect',
      tag,
      '--format',
      '{{.Manifest.Digest}}',
    ).trim();
    digests.set(tag, digest);
    console.log(`${tag}@${digest}${image.endsWith(digest) ? '' : ' (changed)'}`);
  }
  const origin = `resolved on ${new Date().toISOString().slice(0, 10)}`;
  for (const file of FILES) {
    const path = join(ROOT, file);
    writeFileSync(path, repin(readFileSync(path, 'utf8'), digests, origin));
  }
}

/** @returns the images that cannot be used */
function checkImages(): string[] {
  const foreign = FILES.flatMap((file) => foreignPins(readFileSync(join(ROOT, file), 'utf8')));
  return allImages().filter((image) => {
    try {
      if (!image.includes('@')) throw new Error(`it has no digest: run ${RESOLVE}`);
      if (foreign.some(({ digest }) => image.endsWith(digest))) {
        throw new Error(`its digest has another origin than its registry: run ${RESOLVE}`);
      }
      const missing = missingPlatforms(
        JSON.parse(docker('buildx', 'imagetools', 'inspect', '--raw', image)),
      );
      if (missing.length > 0) throw new Error(`it has no ${missing.join(', ')}`);
      docker('pull', '--quiet', image);
      console.log(`pulled ${image}`);
      return false;
    } catch (error) {
      console.error(`${image}: ${error instanceof Error ? error.message : String(error)}`);
      return true;
    }
  });
}

runMain(async () => {
  const [what, option] = process.argv.slice(2);
  if (what === 'jars') {
    if (option !== undefined) writeFileSync(POM, withKafka(readFileSync(POM, 'utf8'), option));
    writeFileSync(JAR_LIST, await jarList(POM));
    return true;
  }
  if (what !== 'images') throw new Error(USAGE);
  if (option === '--check') return checkImages().length === 0;
  updateImages();
  return true;
});
