/** Ready-made code for the common clients, with the write key of a source. Pure. */

interface Snippet {
  name: string;
  code: string;
}

/** @param ingest the address that clients send to */
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
      name: 'Browser',
      code: [
        `import { AnalyticsBrowser } from '@segment/analytics-next';`,
        '',
        `const analytics = AnalyticsBrowser.load(`,
        `  { writeKey: '${key}', cdnURL: '${host}' },`,
        `  { integrations: { 'Segment.io': { apiHost: '${host.replace(/^https?:\/\//, '')}/v1', protocol: '${host.split(':')[0] ?? 'https'}' } } },`,
        `);`,
        `analytics.track('First Event', { plan: 'free' });`,
      ].join('\n'),
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

/** Where ingest is most likely to be, seen from the page: beside control, at its own port. */
export function ingestBeside(origin: string): string {
  const url = new URL(origin);
  url.port = '8080';
  return url.origin;
}
