import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileOf, kafkaVersion, readJarList } from '../../../dev/kafka/jar-list';
import { ROOT } from '../../../shared/runtime/repo-root';
import {
  foreignPins,
  missingPlatforms,
  pinnedImages,
  repin,
  unresolvedTags,
} from '../../../tools/pins/images';
import { withKafka } from '../../../tools/pins/jars';

const OLD = `sha256:${'a'.repeat(64)}`;
const NEW = `sha256:${'b'.repeat(64)}`;

test('The pinned images of a text are found with tag and digest, others are not', () => {
  const text =
    `FROM node:24.1.0-slim@${OLD} AS build\nimage: grafana/grafana:13.2.3@${NEW}\nimage: ` +
    `other:1\n`;
  expect(pinnedImages(text)).toEqual([
    { tag: 'node:24.1.0-slim', digest: OLD },
    { tag: 'grafana/grafana:13.2.3', digest: NEW },
  ]);
});

test('A resolved digest replaces the old one, and its origin replaces the comment above it', () => {
  const text =
    `    # pin: from somewhere, not pulled yet\n    image: a/b:1@${OLD}\n    # pin: from ` +
    `elsewhere\n    image: c:2@${OLD}\n`;
  expect(repin(text, new Map([['a/b:1', NEW]]), 'resolved on 2026-11-23')).toBe(
    `    # pin: resolved on 2026-11-23\n    image: a/b:1@${NEW}\n    # pin: from ` +
      `elsewhere\n    image: c:2@${OLD}\n`,
  );
});

test('A tag below `pin: none yet` waits for its digest, and gets it', () => {
  const text = `# pin: none yet\nARG NODE_IMAGE=node:26-slim\nARG OTHER_IMAGE=other:1\n`;
  expect(unresolvedTags(text)).toEqual(['node:26-slim']);
  expect(repin(text, new Map([['node:26-slim', NEW]]), 'resolved on 2026-11-26')).toBe(
    `# pin: resolved on 2026-11-26\nARG NODE_IMAGE=node:26-slim@${NEW}\nARG OTHER_IMAGE=other:1\n`,
  );
});

test('A digest counts only if it was resolved from its registry', () => {
  const image = `    image: a/b:1@${OLD}\n`;
  const named = [{ tag: 'a/b:1', digest: OLD }];
  expect(
    foreignPins(`    # pin: from \`x.yml\` of somebody/else, not pulled yet\n${image}`),
  ).toEqual(named);
  expect(foreignPins(image)).toEqual(named);
  expect(foreignPins(`    # pin: resolved on 2026-11-26\n${image}`)).toEqual([]);
});

test('A POM gets another version of Kafka, and keeps those of everything else', () => {
  const pom = readFileSync(join(ROOT, 'deploy', 'kafka', 'pom.xml'), 'utf8');
  const version = kafkaVersion(readJarList());
  expect(withKafka(pom, '3.9.2')).toBe(
    pom.replace(`<version>${version}</version>`, '<version>3.9.2</version>'),
  );
  expect(withKafka(withKafka(pom, '3.9.2'), version)).toBe(pom);
  expect(() => withKafka('<project/>', '3.9.2')).toThrow('the POM names no version of Kafka');
});

test.each(['Dockerfile', 'docker-compose.yml'])('No digest in %s has another origin', (file) => {
  expect(foreignPins(readFileSync(join(ROOT, file), 'utf8'))).toEqual([]);
});

test('A manifest of one platform, or of the wrong ones, does not serve the released image', () => {
  const platform = (architecture: string) => ({ platform: { os: 'linux', architecture } });
  expect(
    missingPlatforms({ manifests: [platform('amd64'), platform('arm64'), platform('s390x')] }),
  ).toEqual([]);
  expect(missingPlatforms({ manifests: [platform('arm64')] })).toEqual(['linux/amd64']);
  expect(
    missingPlatforms({ mediaType: 'application/vnd.oci.image.manifest.v1+json' }),
  ).toHaveLength(2);
});

test.each(['Dockerfile', 'docker-compose.yml'])(
  'Every image in %s that Waypost does not build has a digest, or waits for one by name',
  (file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const named = text.match(/^(?:ARG \w+_IMAGE=|\s+image: )(?!\$).*$/gm)!;
    const waiting = unresolvedTags(text);
    const isKnown = (line: string) =>
      pinnedImages(line).length === 1 || waiting.some((tag) => line.endsWith(tag));
    expect(named.filter((line) => !isKnown(line))).toEqual([]);
  },
);

test('The list of jars has the versions of the POM, each file once', () => {
  const pom = readFileSync(join(ROOT, 'deploy', 'kafka', 'pom.xml'), 'utf8');
  const list = readJarList();
  const dependencies = [
    ...pom.matchAll(
      /<artifactId>([\w.-]+)<\/artifactId>\s*<version>([\d.]+)<\/version>\s*(?:<scope>|<\/dependency>)/g,
    ),
  ];
  expect(dependencies).toHaveLength(2);
  for (const [, artifact, version] of dependencies) {
    expect(list.jars.find(({ artifactId }) => artifactId === artifact)?.version).toBe(version);
  }
  expect(kafkaVersion(list)).toMatch(/^4\.\d+\.\d+$/);
  expect(new Set(list.jars.map(fileOf)).size).toBe(list.jars.length);
});

test('No installed package excludes the newest Node', () => {
  const lock = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const { packages } = JSON.parse(lock) as {
    packages: Record<string, { engines?: { node?: string } }>;
  };
  // Without an upper bound in one of its alternatives.
  const isOpen = (range: string) =>
    range.split('||').some((part) => /^\s*(\*|>=?\s*v?[\d.*x]+)\s*$/.test(part));
  const closed = Object.entries(packages).filter(
    ([name, { engines: { node = '*' } = {} }]) => name && !isOpen(node),
  );
  expect(closed.map(([name]) => name)).toEqual([]);
});
