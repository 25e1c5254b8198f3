import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/service/repo-root';
import { eventually } from '../support/eventually';
import { startProgram } from '../support/child-program';
import { type StorySystem } from '../support/story-system';
import { GO, testWith, type Tool } from '../support/external-tools';

/**
 * Waypost's clients while ingest is killed and restarted: every call arrives once, and memory stays
 * bounded.
 */

const run = promisify(execFile);
/** `CLIENT_CALLS=100000` by hand: minutes. */
const CALLS = Number(process.env.CLIENT_CALLS ?? 5_000);
/** A client needs memory for its runtime and bodies in flight, beside its queue of 1 MB. */
const MAX_PEAK_KB = 160 * 1024;

/** Defines the tests. @param stage returns the system they run on */
export function outageStories(stage: () => StorySystem): void {
  let scratch: string;
  beforeAll(() => (scratch = mkdtempSync(join(tmpdir(), 'waypost-outage-'))));
  afterAll(() => rmSync(scratch, { recursive: true, force: true }));

  const clients: { name: string; needs?: Tool; command(): Promise<string[]> }[] = [
    {
      name: 'waypost-node',
      command: () =>
        Promise.resolve([process.execPath, join(ROOT, 'test/clients/waypost-node/main.cjs')]),
    },
    {
      name: 'waypost-go',
      needs: GO,
      command: async () => {
        const binary = join(scratch, 'waypost-go');
        await run('go', ['build', '-o', binary, '.'], {
          cwd: join(ROOT, 'test/clients/waypost-go'),
        });
        return [binary];
      },
    },
  ];

  for (const client of clients) {
    testWith(
      client.needs,
      `${CALLS} calls of ${client.name} arrive once though ingest is killed`,
      async () => {
        const { system, sink } = stage();
        const path = `/${client.name}`;
        const seen = new Map<string, number>();
        let times = 0;
        sink.on(path, (request) => {
          const { messageId } = JSON.parse(request.body.toString()) as { messageId: string };
          seen.set(messageId, (seen.get(messageId) ?? 0) + 1);
          // The sink keeps every request; here the ids are enough.
          if (++times % 1_000 === 0) sink.clear();
          return {};
        });
        const { source } = await stage().connect({ webhooks: [{ url: sink.url(path) }] });
        const [command, ...args] = await client.command();
        const killed = system.pids('ingest')[0]!;
        const program = startProgram(command!, [
          ...args,
          system.ingestUrl,
          source.writeKey,
          client.name,
          String(CALLS),
        ]);

        await eventually(() => expect(seen.size).toBeGreaterThan(0), { everyMs: 1 });
        process.kill(killed, 'SIGKILL');
        // However fast it was, the client still has the second half of its calls to send.
        program.child.kill('SIGUSR2');
        expect([await program.exited, program.output()]).toEqual([0, expect.any(String)]);
        expect(system.pids('ingest')).not.toContain(killed);

        await eventually(() => expect(seen.size).toBe(CALLS), { deadlineMs: 120_000 + CALLS });
        expect([...seen.values()].filter((count) => count > 1)).toEqual([]);
        const said = JSON.parse(program.output().trim().split('\n').at(-1)!) as {
          delivered: number;
          peakKb: number;
        };
        expect(said.delivered).toBe(CALLS);
        expect(said.peakKb).toBeLessThan(MAX_PEAK_KB);
        process.stderr.write(
          `${client.name}: ${CALLS} calls, peak ${Math.round(said.peakKb / 1024)} MB\n`,
        );
      },
      600_000,
    );
  }
}
