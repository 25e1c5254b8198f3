import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../shared/runtime/repo-root';
import { signedHeaders } from '../support/signed-headers';
import { GO, testWith } from '../support/external-tools';

/** Checks clients/go and all other Go code with Go's tools. */

const run = promisify(execFile);
const CLIENT = join(ROOT, 'clients/go');
const PROGRAMS = ['examples/send-go', 'examples/receive-go', 'test/clients/waypost-go'].map((dir) =>
  join(ROOT, dir),
);

async function go(dir: string, args: string[], env: Record<string, string> = {}): Promise<string> {
  try {
    return (await run('go', args, { cwd: dir, env: { ...process.env, ...env } })).stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`go ${args.join(' ')} in ${dir}:\n${stdout}${stderr}`, { cause: error });
  }
}

testWith(GO, 'go vet and go fmt find no fault in any Go code', async () => {
  for (const dir of [CLIENT, ...PROGRAMS]) {
    await go(dir, ['vet', './...']);
    expect(await go(dir, ['fmt', './...'])).toBe('');
  }
});

testWith(
  GO,
  'the tests of the Go client pass under the race detector, and it verifies signatures of Waypost',
  async () => {
    const dir = mkdtempSync(join(tmpdir(), 'waypost-signed-'));
    const file = join(dir, 'requests.json');
    const secrets = [
      's3cret',
      'gehëim-秘密',
      `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
      'whsec_AAA',
      'whsec_AAAA',
    ];
    const body = '{"event":"Ünïcode 😀"}';
    const requests = secrets.map((secret) => ({
      secret,
      body,
      headers: signedHeaders(secret, Buffer.from(body)),
    }));
    writeFileSync(file, JSON.stringify(requests));
    try {
      const output = await go(CLIENT, ['test', '-race', '-count=1', '-v', './...'], {
        WAYPOST_SIGNED_REQUESTS: file,
      });
      expect(output).toContain('--- PASS: TestWhatWaypostSigned');
      expect(output).not.toContain('--- SKIP');
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
);
