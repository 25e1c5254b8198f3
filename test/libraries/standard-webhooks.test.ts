import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { VERIFIERS } from '../clients/programs';
import { blockNamed } from '../support/doc-blocks';
import { testWith } from '../support/external-tools';
import { signedHeaders } from '../support/signed-headers';

/**
 * The first example of README.md, verified as the receiver of a reader would do it: with a
 * published library.
 */

const SECRET = /"sharedSecret": "([^"]*)"/.exec(blockNamed('README.md', 'first event'))?.[1] ?? '';
const BODY = '{"version":1,"type":"track","userId":"Zoë","event":"Order Completed"}';
const OTHER_BODY = '{"version":1,"type":"track","userId":"Eve","event":"Order Completed"}';
const headers = () => signedHeaders(SECRET, Buffer.from(BODY));

test('the library for Node verifies a request of the example', () => {
  expect(new Webhook(SECRET).verify(BODY, headers())).toMatchObject({ userId: 'Zoë' });
  expect(() => new Webhook(SECRET).verify(OTHER_BODY, headers())).toThrow('No matching signature');
});

test('the library for Node verifies with any other text as the documentation says', () => {
  const secret = 'any other text';
  const signed = signedHeaders(secret, Buffer.from(BODY));
  expect(new Webhook(secret, { format: 'raw' }).verify(BODY, signed)).toMatchObject({
    userId: 'Zoë',
  });
});

for (const [name, { needs, prepare }] of Object.entries(VERIFIERS)) {
  testWith(needs, `the library for ${name} verifies a request of the example`, async () => {
    const [command = '', ...args] = await prepare();
    const exitOf = async (body: string): Promise<unknown> => {
      const program = spawn(command, [...args, SECRET], { stdio: ['pipe', 'ignore', 'ignore'] });
      program.stdin.end(JSON.stringify({ headers: headers(), body }));
      return (await once(program, 'exit'))[0];
    };
    expect(await exitOf(BODY)).toBe(0);
    expect(await exitOf(OTHER_BODY)).toBe(1);
  });
}
