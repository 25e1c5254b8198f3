import { createHmac, createPublicKey, generateKeyPairSync, verify as verifyKey } from 'node:crypto';
import { inspect } from 'node:util';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { defined } from '../../../shared/collections/defined';
import { prepareSecrets, signHeaders, type SigningSecrets } from '../../../shared/model/sign';
import { prepareSignatures } from '../../../shared/model/custom-signatures';
import { type Ed25519KeyPair, type SignatureSettings } from '../../../shared/model/endpoint-auth';
import { HmacKey } from '../../../shared/model/hmac-key';
import { cases } from '../../support/cases';
import { anyText } from '../../support/any-text';

// The verifying library compares the timestamp with its own clock.
const NOW_MS = Date.now();
const NOW_S = Math.floor(NOW_MS / 1000);
const BODY = Buffer.from('{"version":1,"type":"track","event":"Ünïcode 😀"}');
const WHSEC = `whsec_${Buffer.from('0123456789abcdef0123456789abcdef').toString('base64')}`;

function sign(secrets: SigningSecrets | undefined, nowMs = NOW_MS, body = BODY) {
  const prepared = secrets && prepareSecrets(secrets);
  const list = signHeaders({ id: 'dlv_1', timestampS: NOW_S, body, secrets: prepared, nowMs });
  expect(list.length % 2).toBe(0);
  return Object.fromEntries(
    list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]!] as const] : [])),
  ) as Record<string, string>;
}

const sha1 = (secret: string, body: Buffer = BODY) =>
  createHmac('sha1', Buffer.from(secret, 'utf8')).update(body).digest('hex');

/** Verifies as a receiver would. @throws if no signature matches */
function verify(secret: string, headers: Record<string, string>, body: Buffer = BODY) {
  const judge = secret.startsWith('whsec_')
    ? new Webhook(secret)
    : new Webhook(new Uint8Array(Buffer.from(secret, 'utf8')), { format: 'raw' });
  return judge.verify(body, headers, { jsonParse: false });
}

describe('a signed request', () => {
  test('without a secret has only the id and the timestamp', () => {
    expect(signHeaders({ id: 'dlv_1', timestampS: 1700000000, body: BODY, nowMs: 0 })).toEqual([
      'webhook-id',
      'dlv_1',
      'webhook-timestamp',
      '1700000000',
    ]);
  });

  test('has the known signatures of a known input', () => {
    // HMAC-SHA1 of this text under "key" is the example of many references (RFC 2202 has no
    // printable one).
    const body = Buffer.from('The quick brown fox jumps over the lazy dog');
    expect(sign({ current: 'key' }, NOW_MS, body)['X-Signature']).toBe(
      'de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9',
    );
  });

  test.each([
    ['plain text', 'top-secret'],
    ['text beyond ASCII', 'gehëim-秘密'],
    ['a Standard Webhooks secret', WHSEC],
    ['a long text', 'x'.repeat(300)],
    ['text that happens to be base64', 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  ])('has two valid signatures with %s', (_, secret) => {
    const headers = sign({ current: secret });
    expect(Object.keys(headers)).toEqual([
      'webhook-id',
      'webhook-timestamp',
      'X-Signature',
      'webhook-signature',
    ]);
    expect(headers['X-Signature']).toBe(sha1(secret));
    expect(() => verify(secret, headers)).not.toThrow();
    expect(() => verify('another', headers)).toThrow();
    expect(() => verify(secret, headers, Buffer.from('{}'))).toThrow();
  });

  test('never uses an empty key for a secret that is only the prefix', () => {
    const headers = sign({ current: 'whsec_' });
    const empty = createHmac('sha256', '').update(`dlv_1.${NOW_S}.`).update(BODY).digest('base64');
    expect(headers['webhook-signature']).not.toBe(`v1,${empty}`);
  });

  describe('in a rotation', () => {
    const at = (ms: number) => NOW_MS + ms;
    const rotated = { current: 'new', previous: 'old', overlapUntil: at(1000) };
    test.each<[string, SigningSecrets, string[], string]>([
      ['within the overlap', rotated, ['new', 'old'], 'old'],
      ['at the end of the overlap', { ...rotated, overlapUntil: at(0) }, ['new'], 'new'],
      ['after the overlap', { ...rotated, overlapUntil: at(-1) }, ['new'], 'new'],
      [
        'before a switchAt within the overlap',
        { ...rotated, switchAt: at(500) },
        ['new', 'old'],
        'old',
      ],
      ['at a switchAt within the overlap', { ...rotated, switchAt: at(0) }, ['new', 'old'], 'new'],
      [
        'past a switchAt within the overlap',
        { ...rotated, switchAt: at(-500) },
        ['new', 'old'],
        'new',
      ],
      [
        'before a switchAt after the overlap',
        { ...rotated, overlapUntil: at(-1), switchAt: at(500) },
        ['new'],
        'old',
      ],
      ['without an end of the overlap', { current: 'new', previous: 'old' }, ['new'], 'new'],
      ['without a previous secret', { current: 'new', overlapUntil: at(1000) }, ['new'], 'new'],
    ])('has the right signatures %s', (_, secrets, standard, legacy) => {
      const headers = sign(secrets);
      expect(headers['X-Signature']).toBe(sha1(legacy));
      const signatures = headers['webhook-signature']!.split(' ');
      expect(signatures).toHaveLength(standard.length);
      for (const secret of ['new', 'old']) {
        const verified = expect(() => verify(secret, headers));
        if (standard.includes(secret)) verified.not.toThrow();
        else verified.toThrow();
      }
    });
  });

  test('has the signatures of a hand-made HMAC, for any bytes and any secret', () => {
    fc.assert(
      fc.property(anyText({ minLength: 1 }), fc.uint8Array({ maxLength: 300 }), (secret, bytes) => {
        fc.pre(!secret.startsWith('whsec_'));
        const body = Buffer.from(bytes);
        const headers = sign({ current: secret }, NOW_MS, body);
        expect(headers['X-Signature']).toBe(sha1(secret, body));
        const content = Buffer.concat([Buffer.from(`dlv_1.${NOW_S}.`), body]);
        expect(headers['webhook-signature']).toBe(
          `v1,${createHmac('sha256', Buffer.from(secret)).update(content).digest('base64')}`,
        );
      }),
    );
  });

  test('prepared secrets print no secret', () => {
    const prepared = prepareSecrets({
      current: 'hush-current',
      previous: 'hush-previous',
      overlapUntil: 1,
    });
    expect(JSON.stringify(prepared) + inspect(prepared, { depth: 9 })).not.toContain('hush');
  });
});

const bytes = (maxLength: number) =>
  fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const ascii = fc.string({ unit: 'grapheme-ascii', maxLength: 80 });

describe('HmacKey', () => {
  test.each(['sha1', 'sha256'] as const)('gives the same %s as crypto.createHmac', (algorithm) => {
    fc.assert(
      fc.property(bytes(200), ascii, bytes(300), (key, head, body) => {
        const ours = new HmacKey(algorithm, key);
        const theirs = (encoding: 'hex' | 'base64') =>
          createHmac(algorithm, key).update(head, 'latin1').update(body).digest(encoding);
        expect(ours.sign(head, body, 'hex')).toBe(theirs('hex'));
        expect(ours.sign(head, body, 'base64')).toBe(theirs('base64'));
      }),
      { numRuns: cases(500) },
    );
  });

  test.each([63, 64, 65])('accepts a key of %d bytes', (length) => {
    const key = Buffer.alloc(length, 'k');
    const body = Buffer.from('body');
    expect(new HmacKey('sha256', key).sign('', body, 'hex')).toBe(
      createHmac('sha256', key).update(body).digest('hex'),
    );
  });

  test('signs a body larger than any before, and a small one after it', () => {
    const key = new HmacKey('sha1', Buffer.from('k'));
    for (const size of [100, 3_000_000, 100]) {
      const body = Buffer.alloc(size, 'x');
      expect(key.sign('', body, 'hex')).toBe(createHmac('sha1', 'k').update(body).digest('hex'));
    }
  });

  test('does not print its key', () => {
    const printed = inspect(new HmacKey('sha1', Buffer.alloc(20, 'A')), {
      depth: 9,
      showHidden: true,
    });
    expect(printed).not.toMatch(/65|41 41|119/);
  });
});

describe('the signature settings of a destination', () => {
  function signed(settings: SignatureSettings<string>, secrets?: SigningSecrets, nowMs = NOW_MS) {
    const list = signHeaders({
      id: 'dlv_1',
      timestampS: NOW_S,
      body: BODY,
      nowMs,
      secrets: secrets && prepareSecrets(secrets),
      signatures: prepareSignatures(settings, secrets),
    });
    return Object.fromEntries(
      list.flatMap((name, i) => (i % 2 === 0 ? [[name, list[i + 1]!] as const] : [])),
    );
  }
  const hmac = (algorithm: string, secret: string, encoding: 'hex' | 'base64') =>
    createHmac(algorithm, secret).update(BODY).digest(encoding);

  test('without X-Signature, the headers of Standard Webhooks stay', () => {
    const headers = signed({ xSignature: false }, { current: WHSEC });
    expect(headers).not.toHaveProperty('X-Signature');
    expect(() => verify(WHSEC, headers)).not.toThrow();
  });

  test.each([
    ['X-Hub-Signature-256', 'sha256', 'hex', 'sha256='],
    ['X-Hub-Signature', 'sha1', 'hex', 'sha1='],
    ['X-Shopify-Hmac-Sha256', 'sha256', 'base64', undefined],
    ['X-Signature-512', 'sha512', 'hex', undefined],
  ] as const)(
    '%s is the HMAC that receivers of this form compute',
    (header, algorithm, encoding, prefix) => {
      const custom = {
        header,
        algorithm,
        encoding,
        ...defined({ prefix }),
      };
      for (const secret of ['a secret', 'x'.repeat(300)]) {
        expect(signed({ custom }, { current: secret })[header]).toBe(
          (prefix ?? '') + hmac(algorithm, secret, encoding),
        );
      }
    },
  );

  test('a custom signature changes to the new secret at the same time as X-Signature', () => {
    const custom = { header: 'X-Mine', algorithm: 'sha256', encoding: 'hex' } as const;
    const secrets = {
      current: 'new secret',
      previous: 'old secret',
      overlapUntil: 2_000,
      switchAt: 1_000,
    };
    expect(signed({ custom }, secrets, 999)['X-Mine']).toBe(hmac('sha256', 'old secret', 'hex'));
    expect(signed({ custom }, secrets, 1_000)['X-Mine']).toBe(hmac('sha256', 'new secret', 'hex'));
  });

  function aPair(): Ed25519KeyPair<string> {
    const { d = '', x = '' } = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' });
    const [seed, publicKey] = [d, x].map((part) => Buffer.from(part, 'base64url')) as [
      Buffer,
      Buffer,
    ];
    const privateKey = `whsk_${Buffer.concat([seed, publicKey]).toString('base64')}`;
    return { publicKey: `whpk_${publicKey.toString('base64')}`, privateKey, createdAt: '' };
  }
  /**
   * Verifies by the published key alone, as the specification of Standard Webhooks describes it.
   */
  function isValid(publicKey: string, signature: string): boolean {
    const raw = Buffer.from(publicKey.slice('whpk_'.length), 'base64');
    const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), raw]);
    const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
    const content = Buffer.concat([Buffer.from(`dlv_1.${String(NOW_S)}.`), BODY]);
    return verifyKey(null, content, key, Buffer.from(signature.slice('v1a,'.length), 'base64'));
  }

  test('an Ed25519 signature stands beside v1, and the published key verifies it', () => {
    const pair = aPair();
    const { 'webhook-signature': both = '' } = signed(
      { ed25519: { current: pair } },
      { current: WHSEC },
    );
    const [v1, v1a] = both.split(' ') as [string, string];
    expect([v1, v1a]).toEqual([expect.stringMatching(/^v1,/), expect.stringMatching(/^v1a,/)]);
    expect([isValid(pair.publicKey, v1a), isValid(aPair().publicKey, v1a)]).toEqual([true, false]);
    // Libraries that know only v1 skip the other signature.
    expect(() =>
      verify(WHSEC, signed({ ed25519: { current: pair } }, { current: WHSEC })),
    ).not.toThrow();
  });

  test('without a shared secret, only Ed25519 signs; during a rotation both keys sign', () => {
    const [current, previous] = [aPair(), aPair()];
    const keys = { ed25519: { current, previous, overlapUntil: 1_000 } };
    const during = signed(keys, undefined, 999)['webhook-signature']!.split(' ');
    expect(during.map((each, i) => isValid([current, previous][i]!.publicKey, each))).toEqual([
      true,
      true,
    ]);
    expect(signed(keys, undefined, 1_000)['webhook-signature']!.split(' ')).toHaveLength(1);
  });
});
