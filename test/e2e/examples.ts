import { join } from 'node:path';
import { ROOT } from '../../shared/service/repo-root';
import { CHROMIUM, openChromium } from '../support/chromium';
import { installExamples, type InstalledExamples } from '../support/installed-examples';
import { startProgram } from '../support/child-program';
import { type Connection, type StorySystem } from '../support/story-system';
import { GO, testWith } from '../support/external-tools';

/** The sender examples against the whole system. */

/** Defines the tests. @param stage returns the system they run on */
export function exampleStories(stage: () => StorySystem): void {
  let installed: InstalledExamples;
  beforeAll(async () => (installed = await installExamples()));
  afterAll(() => installed.remove());

  async function connect(
    path: string,
  ): Promise<{ connection: Connection; env: Record<string, string> }> {
    const connection = await stage().connect({ webhooks: [{ url: stage().sink.url(path) }] });
    return {
      connection,
      env: {
        WRITE_KEY: connection.source.writeKey,
        ENDPOINT: stage().system.ingestUrl,
        USER_ID: 'u1',
        PORT: '0',
      },
    };
  }

  async function types(path: string, count: number): Promise<unknown[]> {
    const received = await stage().sink.waitFor(count, { path });
    return received
      .map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
      .sort();
  }

  const ALL = ['alias', 'group', 'identify', 'page', 'screen', 'track'];

  test('send-node sends one call of each type', async () => {
    const { env } = await connect('/send-node');
    const program = startProgram(process.execPath, [join(installed.dir, 'send-node/main.js')], {
      env,
    });
    expect([await program.exited, program.output()]).toEqual([0, '6 calls delivered\n']);
    expect(await types('/send-node', 6)).toEqual(ALL);
  });

  testWith(GO, 'send-go sends one call of each type', async () => {
    const { env } = await connect('/send-go');
    const program = startProgram('go', ['run', '.'], { env, cwd: join(ROOT, 'examples/send-go') });
    expect([await program.exited, program.output()]).toEqual([
      0,
      expect.stringContaining('alias delivered'),
    ]);
    expect(await types('/send-go', 6)).toEqual(ALL);
  });

  testWith(
    CHROMIUM,
    'a page of the browser example sends its queue when it is left or closed',
    async () => {
      const { env } = await connect('/browser');
      const server = startProgram(process.execPath, [join(installed.dir, 'browser/main.js')], {
        env,
      });
      const [, base] = await server.printed(/listening on (\S+)/);
      const browser = await openChromium();
      const tab = await browser.newPage();
      const complaints: string[] = [];
      tab.on('pageerror', (error) => complaints.push(error.message));
      tab.on('console', (message) => {
        // The missing icon does not matter.
        if (message.type() === 'error' && !message.location().url.endsWith('favicon.ico')) {
          complaints.push(message.text());
        }
      });
      const requests: string[] = [];
      tab.on('request', (request) =>
        requests.push(`${request.method()} ${new URL(request.url()).pathname}`),
      );
      for (const leave of [
        () => tab.goto('about:blank'),
        () => tab.close({ runBeforeUnload: true }),
      ]) {
        // The page listens once it has its settings. Its queue then waits for more calls or some
        // seconds; neither comes.
        await tab.goto(base!, { waitUntil: 'networkidle' });
        await tab.getByText('Buy').click();
        await leave();
      }
      expect(await types('/browser', 4)).toEqual(['page', 'page', 'track', 'track']);
      expect(complaints).toEqual([]);
      expect(requests).not.toContain('OPTIONS /v1/batch');
      const received = stage()
        .sink.received('/browser')
        .map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>);
      for (const call of received) expect(call).toMatchObject({ context: { page: { path: '/' } } });
      // All calls have one anonymous id, and each arrived once.
      expect(new Set(received.map(({ anonymousId }) => anonymousId)).size).toBe(1);
      expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(4);
      await browser.close();
      await server.stop();
    },
  );
}
