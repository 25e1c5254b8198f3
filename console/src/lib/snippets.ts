import { type About } from '../../../shared/api/operations';
import { text } from '../texts';

const words = text.lib.snippets;

/** Ready-made code for common clients, with the write key of a source. Pure. */

interface Snippet {
  name: string;
  code: string;
  /** it puts the write key into a page, where everybody can read it */
  inPage?: boolean;
}

/** @param ingest the address of ingest for clients */
export function snippetsFor(ingest: string, writeKey: string): Snippet[] {
  const [host, key] = [ingest.replace(/\/$/, ''), writeKey];
  return [
    {
      name: 'curl',
      code: [
        `curl ${host}/v1/track -u '${key}:' \\`,
        `  -H 'Content-Type: application/json' \\`,
        `  -d '{"userId":"user-1","event":"First Event","properties":{"plan":"free"}}'`,
      ].join('\n'),
    },
    {
      name: words.browser,
      code: [
        `import { AnalyticsBrowser } from '@segment/analytics-next';`,
        '',
        `const analytics = AnalyticsBrowser.load(`,
        `  { writeKey: '${key}', cdnURL: '${host}' },`,
        "  { integrations: { 'Segment.io': { apiHost: " +
          `'${host.replace(/^https?:\/\//, '')}/v1', protocol: ` +
          `'${host.split(':')[0] ?? 'https'}' } } },`,
        `);`,
        `analytics.track('First Event', { plan: 'free' });`,
      ].join('\n'),
      inPage: true,
    },
    {
      name: 'Node',
      code: [
        `import { Analytics } from '@segment/analytics-node';`,
        '',
        `const analytics = new Analytics({ writeKey: '${key}', host: '${host}' });`,
        `analytics.track({ userId: 'user-1', event: 'First Event', properties: { plan: 'free' } });`,
      ].join('\n'),
    },
    {
      name: 'Python',
      code: [
        'import segment.analytics as analytics',
        '',
        `analytics.write_key = '${key}'`,
        `analytics.host = '${host}'`,
        `analytics.track('user-1', 'First Event', {'plan': 'free'})`,
        'analytics.flush()',
      ].join('\n'),
    },
    {
      name: 'Go',
      code: [
        `client, err := analytics.NewWithConfig("${key}", analytics.Config{Endpoint: "${host}"})`,
        'if err != nil {',
        '    log.Fatal(err)',
        '}',
        'defer client.Close()',
        'client.Enqueue(analytics.Track{UserId: "user-1", Event: "First Event"})',
      ].join('\n'),
    },
  ];
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
