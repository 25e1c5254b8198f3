import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../../shared/runtime/repo-root';
import { prepareSignatures } from '../../../shared/model/custom-signatures';
import { prepareSecrets, signHeaders } from '../../../shared/model/sign';
import { WAYPOST_HEADERS } from '../../../shared/model/webhook-request';
import { blockNamed } from '../../support/doc-blocks';

test('docs/guide/receiving.md says of every header that Waypost sets what its table says', () => {
  const text = readFileSync(join(ROOT, 'docs/guide/receiving.md'), 'utf8');
  const [, section = ''] = text.split('## Headers of every request');
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  for (const { name, docs } of WAYPOST_HEADERS) {
    const row = rows.find(([, names = '']) => names.toLowerCase().includes(`\`${name}\``));
    expect({ name, docs: row?.[2] }).toEqual({ name, docs });
  }
});

describe('the code of the page for Ed25519 and for a header of your choice', () => {
  const SECRET = 'a secret of the receiver';
  const body = Buffer.from('{"type":"track","userId":"Zoë"}');
  /** A key pair as Waypost stores and shows it. */
  const pair = () => {
    const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const [seed, own] = [jwk.d, jwk.x].map((part) => Buffer.from(part!, 'base64url')) as [
      Buffer,
      Buffer,
    ];
    const privateKey = `whsk_${Buffer.concat([seed, own]).toString('base64')}`;
    return { publicKey: `whpk_${own.toString('base64')}`, privateKey, createdAt: '' };
  };
  const [current, previous, other] = [pair(), pair(), pair()];
  const settings = {
    header: 'X-Hub-Signature-256',
    algorithm: 'sha256',
    encoding: 'hex',
    prefix: 'sha256=',
  } as const;
  const nowMs = Date.now();
  const headersAt = (timestampS: number) => {
    const ed25519 = { current, previous, overlapUntil: nowMs + 60_000 };
    const secrets = prepareSecrets({ current: SECRET });
    const signatures = prepareSignatures({ custom: settings, ed25519 }, { current: SECRET });
    const list = signHeaders({ id: 'dlv_1', timestampS, body, secrets, signatures, nowMs });
    const pairs = list.flatMap((name, i) =>
      i % 2 === 0 ? [[name.toLowerCase(), list[i + 1]!] as const] : [],
    );
    return Object.fromEntries(pairs);
  };

  /** Runs the code of the page on each case in a separate process, as a receiver would. */
  function verdicts(
    cases: { headers: Record<string, string>; body: string; keys: string[]; secrets: string[] }[],
  ) {
    const code = `${blockNamed('docs/guide/receiving.md', 'other signatures')}
      const verdict = (check) => {
        try { return check(); } catch (error) { return error.message; }
      };
      const results = ${JSON.stringify(cases)}.map(({ headers, body, keys, secrets }) => [
        verdict(() => verifyEd25519(headers, Buffer.from(body), keys)),
        verdict(() => verifyCustom(headers, Buffer.from(body), secrets)),
      ]);
      console.log(JSON.stringify(results));`;
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-'], { input: code }).toString(),
    ) as unknown;
  }

  test('accepts what Waypost signs, with either rotation key, and refuses all else', () => {
    const nowS = Math.floor(nowMs / 1_000);
    const good = {
      headers: headersAt(nowS),
      body: body.toString(),
      keys: [current.publicKey],
      secrets: [SECRET],
    };
    const { 'webhook-signature': _, 'x-hub-signature-256': __, ...unsigned } = good.headers;
    expect(
      verdicts([
        good,
        { ...good, keys: [other.publicKey, previous.publicKey], secrets: ['another', SECRET] },
        { ...good, body: '{}' },
        { ...good, keys: [other.publicKey], secrets: ['another'] },
        { ...good, headers: { ...good.headers, 'webhook-id': 'dlv_2' } },
        { ...good, headers: headersAt(nowS - 400) },
        { ...good, headers: unsigned },
      ]),
    ).toEqual([
      ['dlv_1', true],
      ['dlv_1', true],
      ['bad signature', false],
      ['bad signature', false],
      ['bad signature', true],
      ['too old or too new', true],
      ['bad signature', false],
    ]);
  });
});
