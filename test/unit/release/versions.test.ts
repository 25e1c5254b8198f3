import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { allVersions } from '../../../tools/release/version';
import {
  hasSection,
  refusal,
  released,
  versionsIn,
  withVersion,
} from '../../../tools/release/versions';

const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

test('every manifest, client, example and page names the same version', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const found = allVersions();
  expect(found.filter((place) => place.version !== version)).toEqual([]);
  expect([...new Set(found.map(({ file }) => file))]).toEqual(
    expect.arrayContaining([
      'clients/go/client.go',
      'clients/node/package.json',
      'clients/node/src/message.ts',
      'deploy/helm/waypost/Chart.yaml',
      'examples/send-go/go.mod',
      'package-lock.json',
      'package.json',
    ]),
  );
});

test('the changelog and upgrade notes have a section for the next or the current release', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  for (const page of ['CHANGELOG.md', 'docs/operations/upgrading.md']) {
    expect([page, ['Unreleased', version].some((name) => hasSection(read(page), name))]).toEqual([
      page,
      true,
    ]);
  }
});

test.each([
  [
    'package.json',
    '{\n  "version": "0.1.0",\n  "dependencies": { "x": "0.1.0" }',
    '{\n  "version": "0.2.0",\n  "dependencies": { "x": "0.1.0" }',
  ],
  [
    'package-lock.json',
    '{\n  "name": "waypost",\n  "version": "0.1.0",\n "": {\n      "name": "waypost",\n    ' +
      '  "version": "0.1.0", "node_modules/x": { "version": "0.1.0"',
    '{\n  "name": "waypost",\n  "version": "0.2.0",\n "": {\n      "name": "waypost",\n    ' +
      '  "version": "0.2.0", "node_modules/x": { "version": "0.1.0"',
  ],
  [
    'deploy/helm/waypost/Chart.yaml',
    "version: 0.1.0\nappVersion: '0.1.0'\nkubeVersion: '>=1.27.0-0'",
    "version: 0.2.0\nappVersion: '0.2.0'\nkubeVersion: '>=1.27.0-0'",
  ],
  [
    'examples/send-go/go.mod',
    'require github.com/waypost/waypost/clients/go v0.1.0',
    'require github.com/waypost/waypost/clients/go v0.2.0',
  ],
  [
    'examples/browser/package.json',
    '"@waypost/node": "^0.1.0", "express": "0.1.0"',
    '"@waypost/node": "^0.2.0", "express": "0.1.0"',
  ],
  ['docs/guide/cli.md', 'npx @waypost/cli@0.1.0 doctor', 'npx @waypost/cli@0.2.0 doctor'],
  [
    'docs/operations/running.md',
    'ghcr.io/waypost/waypost:0.1.0 and apache/kafka:4.3.1',
    'ghcr.io/waypost/waypost:0.2.0 and apache/kafka:4.3.1',
  ],
  [
    'docs/operations/running.md',
    'oci://ghcr.io/waypost/charts/waypost --version 0.1.0',
    'oci://ghcr.io/waypost/charts/waypost --version 0.2.0',
  ],
  ['docs/performance.md', 'measured with @waypost/node@0.1.0', 'measured with @waypost/node@0.1.0'],
])('a new version changes only the version of Waypost in %s', (file, before, after) => {
  expect(withVersion(file, before, '0.2.0')).toBe(after);
});

test('a manifest without its version is an error, not a file that agrees', () => {
  expect(() => versionsIn('clients/go/client.go', 'package waypost')).toThrow(
    'clients/go/client.go names no version',
  );
});

const clean = { current: '0.9.0', currentIsReleased: true, dirty: [] };
test.each([
  ['0.10.0', clean, undefined],
  ['1.0.0', clean, undefined],
  ['0.9.0', { ...clean, currentIsReleased: false }, undefined],
  ['0.9.0', clean, '0.9.0 is not newer than 0.9.0.'],
  ['0.8.9', { ...clean, currentIsReleased: false }, '0.8.9 is not newer than 0.9.0.'],
  ['0.10', clean, '"0.10" is not a version.'],
  ['v0.10.0', clean, '"v0.10.0" is not a version.'],
  [
    '0.10.0',
    { ...clean, dirty: [' M README.md'] },
    'Commit or discard your changes first:\n   M README.md',
  ],
])('version %s is set or refused with its reason', (next, situation, reason) => {
  const refused = refusal(next, situation);
  if (reason === undefined) expect(refused).toBeUndefined();
  else expect(refused).toContain(reason);
});

test('a release names the section of unreleased changes after the version', () => {
  const page =
    '# Changelog\n\n## Unreleased\n\n- A change.\n\n## 0.1.0 (2026-01-01)\n\n- Another.\n';
  const now = released('CHANGELOG.md', page, '0.2.0', '2026-02-03');
  expect(now).toBe(page.replace('## Unreleased', '## 0.2.0 (2026-02-03)'));
  expect(hasSection(now, '0.2.0')).toBe(true);
  expect(hasSection(now, '0.2')).toBe(false);
});

test.each([
  ['# Changelog\n\n## 0.1.0\n', 'has no section'],
  ['## Unreleased\n\n## 0.1.0\n\n- Old.\n', 'is empty'],
  ['## Unreleased\n', 'is empty'],
])('a release without notes is refused: %j', (page, reason) => {
  expect(() => released('CHANGELOG.md', page, '0.2.0')).toThrow(reason);
});
