import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../../shared/runtime/repo-root';
import { type Verifier, VERIFIERS } from '../clients/programs';
import { blockNamed } from '../support/doc-blocks';
import { testWith } from '../support/external-tools';
import { signedHeaders } from '../support/signed-headers';

/**
 * Requests of Waypost, verified as docs/guide/receiving.md says: by its code, with a published
 * library.
 */

const PAGE = 'docs/guide/receiving.md';
/** of the form that Waypost makes */
const SECRET = `whsec_${Buffer.alloc(32, 0xfb).toString('base64')}`;
const TEXT = 'gehëim-秘密';
const BODY = '{"version":1,"type":"track","userId":"Zoë","event":"Order Completed"}';
const OTHER_BODY = '{"version":1,"type":"track","userId":"Eve","event":"Order Completed"}';

interface Language {
  code: string;
  /** how the code opens a secret of Standard Webhooks, and one that is a text */
  opens: string;
  opensText: string;
}

const LANGUAGES: Record<keyof typeof VERIFIERS, Language> = {
  node: {
    code: blockNamed(PAGE, 'node'),
    opens: 'new Webhook(secret)',
    opensText: "new Webhook(Buffer.from(secret), { format: 'raw' })",
  },
  python: {
    code: blockNamed(PAGE, 'python'),
    opens: 'Webhook(secret)',
    opensText: 'Webhook(secret.encode())',
  },
  go: {
    code: blockNamed(PAGE, 'go'),
    opens: 'NewWebhook(secret)',
    opensText: 'NewWebhookRaw([]byte(secret))',
  },
};

let scratch: string;
beforeAll(() => {
  scratch = mkdtempSync(join(tmpdir(), 'waypost-verify-'));
});
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** Returns the exit codes of a program for a signed request, and for another body. */
async function verdicts([command = '', ...args]: string[], secret: string): Promise<unknown[]> {
  const headers = signedHeaders(secret, Buffer.from(BODY));
  const codes: unknown[] = [];
  for (const body of [BODY, OTHER_BODY]) {
    const program = spawn(command, [...args, secret], { stdio: ['pipe', 'ignore', 'ignore'] });
    program.stdin.end(JSON.stringify({ headers, body }));
    codes.push((await once(program, 'exit'))[0]);
  }
  return codes;
}

const languages = Object.entries<Verifier>(VERIFIERS).map(([name, verifier]) => ({
  name,
  ...verifier,
  ...LANGUAGES[name as keyof typeof VERIFIERS],
}));

for (const { name, needs, prepare, code, opens, opensText } of languages) {
  testWith(needs, `the library for ${name} verifies with a secret that Waypost makes`, async () => {
    const program = await prepare(join(scratch, name), code);
    expect(await verdicts(program, SECRET)).toEqual([0, 1]);
  });

  testWith(needs, `the library for ${name} verifies with a secret that is any text`, async () => {
    expect(readFileSync(join(ROOT, PAGE), 'utf8')).toContain(`\`${opensText}\``);
    expect(code).toContain(opens);
    const program = await prepare(join(scratch, `${name}-text`), code.replace(opens, opensText));
    expect(await verdicts(program, TEXT)).toEqual([0, 1]);
  });
}
