import { type About } from '../../../shared/api/operations';
import { text } from '../texts';

const words = text.lib.snippets;

/** Ready-made programs for common clients, with the write key of a source. Pure. */

export interface Snippet {
  name: string;
  /** commands that install what the program needs, in an empty folder */
  install?: string;
  /** the file that holds the program; undefined: it goes into a page, or into the terminal */
  file?: string;
  /** the whole program: it ends once its call is delivered */
  code: string;
  /** the command that runs the file */
  run?: string;
  /** it puts the write key into a page, where everybody can read it */
  inPage?: boolean;
  /** it uses a client of Waypost, from a clone */
  isOwn?: boolean;
}

/** Where somebody has cloned Waypost: the clients are not published. */
const CLONE = 'WAYPOST=~/waypost';
const GO_CLIENT = 'github.com/waypost/waypost/clients/go';

/**
 * Returns the shortest of them, which needs no program.
 * @param ingest the address of ingest for clients
 */
export function curlFor(ingest: string, writeKey: string): Snippet {
  return {
    name: 'curl',
    code: [
      `curl ${hostOf(ingest)}/v1/track -u '${writeKey}:' \\`,
      `  -H 'Content-Type: application/json' \\`,
      `  -d '{"userId":"user-1","event":"First Event","properties":{"plan":"free"}}'`,
    ].join('\n'),
  };
}

function hostOf(ingest: string): string {
  return ingest.replace(/\/$/, '');
}

/** @param ingest the address of ingest for clients */
export function snippetsFor(ingest: string, writeKey: string): Snippet[] {
  const [host, key] = [hostOf(ingest), writeKey];
  return [
    curlFor(ingest, writeKey),
    {
      name: words.browser,
      install: 'npm install @segment/analytics-next',
      code: [
        `import { AnalyticsBrowser } from '@segment/analytics-next';`,
        '',
        `const analytics = AnalyticsBrowser.load(`,
        `  { writeKey: '${key}', cdnURL: '${host}' },`,
        "  { integrations: { 'Segment.io': { apiHost: " +
          `'${host.replace(/^https?:\/\//, '')}/v1', protocol: ` +
          `'${host.split(':')[0] ?? 'https'}' } } },`,
        `);`,
        `await analytics.track('First Event', { plan: 'free' });`,
      ].join('\n'),
      inPage: true,
    },
    {
      name: 'Node',
      install: 'npm install @segment/analytics-node',
      file: 'first-event.mjs',
      code: [
        `import { Analytics } from '@segment/analytics-node';`,
        '',
        `const analytics = new Analytics({ writeKey: '${key}', host: '${host}' });`,
        `analytics.track({ userId: 'user-1', event: 'First Event', properties: { plan: 'free' } });`,
        'await analytics.closeAndFlush();',
      ].join('\n'),
      run: 'node first-event.mjs',
    },
    {
      name: 'Python',
      install: 'python3 -m pip install segment-analytics-python',
      file: 'first_event.py',
      code: [
        'import segment.analytics as analytics',
        '',
        `analytics.write_key = '${key}'`,
        `analytics.host = '${host}'`,
        `analytics.track('user-1', 'First Event', {'plan': 'free'})`,
        'analytics.flush()',
      ].join('\n'),
      run: 'python3 first_event.py',
    },
    {
      name: 'Go',
      install: 'go mod init first-event\ngo get github.com/segmentio/analytics-go/v3',
      file: 'main.go',
      code: goProgram({
        imports: ['"log"', '', '"github.com/segmentio/analytics-go/v3"'],
        main: [
          `client, err := analytics.NewWithConfig("${key}", analytics.Config{Endpoint: "${host}"})`,
          'if err != nil {',
          '\tlog.Fatal(err)',
          '}',
          'if err := client.Enqueue(analytics.Track{',
          '\tUserId:     "user-1",',
          '\tEvent:      "First Event",',
          '\tProperties: analytics.NewProperties().Set("plan", "free"),',
          '}); err != nil {',
          '\tlog.Fatal(err)',
          '}',
          'if err := client.Close(); err != nil {',
          '\tlog.Fatal(err)',
          '}',
        ],
      }),
      run: 'go run .',
    },
    {
      name: words.waypostNode,
      install: `${CLONE}\nnpm install "$WAYPOST/clients/node"`,
      file: 'first-event.mjs',
      code: [
        `import { Analytics } from '@waypost/node';`,
        '',
        `const analytics = new Analytics({ writeKey: '${key}', endpoint: '${host}' });`,
        `analytics.track({ userId: 'user-1', event: 'First Event', properties: { plan: 'free' } });`,
        'await analytics.close();',
      ].join('\n'),
      run: 'node first-event.mjs',
      isOwn: true,
    },
    {
      name: words.waypostGo,
      install: [
        CLONE,
        'go mod init first-event',
        `go mod edit -require ${GO_CLIENT}@v0.1.0 -replace "${GO_CLIENT}=$WAYPOST/clients/go"`,
      ].join('\n'),
      file: 'main.go',
      code: goProgram({
        imports: ['"context"', '"log"', '', `analytics "${GO_CLIENT}"`],
        main: [
          `client := analytics.New("${key}")`,
          `client.Endpoint = "${host}"`,
          'if err := client.Track(&analytics.Track{',
          '\tUserId:     "user-1",',
          '\tEvent:      "First Event",',
          '\tProperties: analytics.Object{"plan": "free"},',
          '}); err != nil {',
          '\tlog.Fatal(err)',
          '}',
          'if err := client.Close(context.Background()); err != nil {',
          '\tlog.Fatal(err)',
          '}',
        ],
      }),
      run: 'go run .',
      isOwn: true,
    },
  ];
}

function goProgram({ imports, main }: Record<'imports' | 'main', readonly string[]>): string {
  const indented = (lines: readonly string[]) =>
    lines.map((line) => (line === '' ? '' : `\t${line}`));
  return [
    'package main',
    '',
    'import (',
    ...indented(imports),
    ')',
    '',
    'func main() {',
    ...indented(main),
    '}',
  ].join('\n');
}

/**
 * Returns the address of ingest for clients: the configured one, otherwise the host of control with
 * the port of ingest.
 */
export function ingestAddress({ url, port }: About['ingest'], origin: string): string {
  if (url !== null) return url;
  const beside = new URL(origin);
  beside.port = String(port);
  return beside.origin;
}
