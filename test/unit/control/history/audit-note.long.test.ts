import fc from 'fast-check';
import { auditNote } from '../../../../services/control/history/audit-note';
import { createEncryptor } from '../../../../shared/config/encryption';
import { writeKeyField } from '../../../../shared/model/secret-fields';
import { type ApiKind, type Destination, type Kinds } from '../../../../shared/model/config';
import { aSource } from '../../../support/fakes';
import { aDestination } from '../../../support/factories';
import { cases } from '../../../support/cases';

const by = { id: 'tok_1', name: 'Kim', role: 'admin' } as const;
const destination = aDestination({
  enabled: false,
  sources: [],
  webhooks: [
    {
      id: 'whk_1',
      url: 'sealed-url',
      origin: 'https://a.example',
      headers: { 'X-Key': 'sealed-key' },
    },
  ],
  secrets: { current: 'sealed-secret' },
  updatedAt: 'then',
});
const note = (after: Partial<Destination>) =>
  auditNote(by, destination, { ...destination, ...after });

test('a note contains the actor, the action and the entry', () => {
  expect(auditNote(by, undefined, aSource())).toMatchObject({
    by,
    action: 'created',
    name: 'shop',
  });
  expect(auditNote(by, aSource(), undefined)).toMatchObject({ action: 'deleted', name: 'shop' });
  expect(note({ name: 'New' })).toMatchObject({ action: 'changed', name: 'New' });
});

test.each<[string, Partial<Destination>, object[]]>([
  ['nothing', { updatedAt: 'now' }, []],
  ['a switch', { enabled: true }, [{ field: 'enabled', from: false, to: true }]],
  ['a list', { sources: ['src_1'] }, [{ field: 'sources', from: [], to: ['src_1'] }]],
  ['a new field', { types: ['page'] }, [{ field: 'types', from: null, to: ['page'] }]],
  ['a filter', { filter: 'false' }, [{ field: 'filter', from: null, to: 'false' }]],
  [
    'a secret',
    { secrets: { current: 'other' } },
    [{ field: 'sharedSecret', from: '***', to: '***' }],
  ],
  [
    'a duration',
    { switchOffAfterMs: 86_400_000 },
    [{ field: 'switchOffAfter', from: null, to: '1d' }],
  ],
  [
    'a field of alerts',
    { alerts: { failingForMs: 60_000, deadLettersEveryMs: 60_000 } },
    [
      { field: 'failingFor', from: null, to: '1m' },
      { field: 'deadLettersEvery', from: null, to: '1m' },
    ],
  ],
])('a note lists the changed fields: %s', (_, after, changes) => {
  expect(note(after).changes).toEqual(changes);
});

test('a note lists the events blocked at a source', () => {
  const blocked = { ...aSource(), blockedEvents: ['Order Completed'] };
  expect(auditNote(by, aSource(), blocked).changes).toEqual([
    { field: 'blockedEvents', from: null, to: ['Order Completed'] },
  ]);
});

test('a note shows that an address or a header changed, without its value', () => {
  const [webhook] = destination.webhooks;
  const shown = {
    id: 'whk_1',
    origin: 'https://a.example',
    address: '***',
    headers: { 'X-Key': '***' },
  };
  expect(note({ webhooks: [{ ...webhook!, url: 'sealed-other' }] }).changes).toEqual([
    { field: 'webhooks', from: [shown], to: [shown] },
  ]);
});

test('the note of an upload has the number of members and whether it replaces all others', () => {
  const audience = { id: 'aud_1', name: 'VIP' } as Kinds['audience'];
  const upload = { number: 7, full: true, lines: 120 };
  expect(auditNote(by, audience, { ...audience, upload }).changes).toEqual([
    { field: 'upload', from: null, to: upload },
  ]);
});

test('a note stays small for any entry', () => {
  const blockedEvents = Array.from({ length: 200 }, (_, i) => `${i} ${'ü'.repeat(500)}`);
  const filter = 'x'.repeat(100_000);
  expect(
    JSON.stringify(auditNote(by, aSource(), { ...aSource(), blockedEvents })).length,
  ).toBeLessThan(100_000);
  expect(JSON.stringify(note({ filter })).length).toBeLessThan(10_000);
});

describe('every changed field', () => {
  const encryptor = createEncryptor([Buffer.alloc(32, 7)]);
  const text = fc.string({ maxLength: 20 });
  const secret = fc.uuid().map((uuid) => `planted-${uuid}`);
  const sealed = secret.map((plain) => encryptor.encrypt(plain, writeKeyField('x')));
  const perMs = fc.nat(1e9);
  const webhook = fc.record(
    {
      id: text,
      url: sealed,
      origin: fc.webUrl(),
      headers: fc.dictionary(text, secret),
      auth: fc.record({ token: sealed }),
    },
    { requiredKeys: ['id', 'url', 'origin', 'headers'] },
  );
  const ranges = fc.array(fc.tuple(fc.nat(), fc.nat()), { maxLength: 12 });
  const definition = {
    name: text,
    key: text,
    sources: fc.array(text),
    syncEveryMs: perMs,
    source: text,
    revision: fc.nat(),
    history: fc.array(fc.nat()),
  };
  /** All fields of each kind of entry; `future` stands for a kind that does not exist yet. */
  const FIELDS: Record<ApiKind, Record<string, fc.Arbitrary<unknown>>> = {
    source: {
      name: text,
      enabled: fc.boolean(),
      blockedEvents: fc.array(text),
      trust: text,
      of: text,
      future: fc.jsonValue(),
      writeKeys: fc.array(
        fc.record(
          { key: secret, hash: secret, sealed, until: fc.nat() },
          { requiredKeys: ['key'] },
        ),
      ),
      limits: fc.record({ maxPerSecond: fc.nat(), burstMs: perMs }),
    },
    destination: {
      name: text,
      type: text,
      enabled: fc.boolean(),
      paused: fc.boolean(),
      sources: fc.array(text),
      webhooks: fc.array(webhook),
      secrets: fc.record({ current: secret, previous: sealed, switchAt: fc.nat() }),
      types: fc.array(text),
      filter: text,
      maxPerSecond: fc.nat(),
      shards: fc.nat(),
      switchOffAfterMs: perMs,
      future: fc.oneof(fc.jsonValue(), sealed, fc.record({ password: sealed })),
    },
    token: {
      name: text,
      role: text,
      hash: secret,
      rights: fc.array(text),
      expiresAt: text,
      future: fc.jsonValue(),
    },
    audience: {
      ...definition,
      condition: text,
      future: fc.jsonValue(),
      uploads: fc.array(
        fc.record({ number: fc.nat(), full: fc.boolean(), lines: fc.nat(), ranges }),
      ),
    },
    computed_trait: {
      ...definition,
      compute: text,
      event: text,
      property: text,
      windowMs: perMs,
      future: fc.jsonValue(),
    },
  };
  const shownName = (field: string) =>
    ({ secrets: 'sharedSecret', hash: 'token' })[field] ?? field.replace(/Ms$/, '');
  const json = (value: unknown) => JSON.stringify(value);

  test.each(Object.keys(FIELDS) as ApiKind[])(
    'the trail of a %s names every changed field and shows no secret',
    (kind) => {
      const fields = FIELDS[kind];
      const entry = fc.record(fields, { requiredKeys: [] });
      const change = fc.constantFrom(...Object.keys(fields)).chain((field) =>
        fc.record({
          field: fc.constant(field),
          value: fc.option(fields[field]!, { nil: undefined }),
        }),
      );
      fc.assert(
        fc.property(entry, change, (before, { field, value }) => {
          const after = { ...before, [field]: value };
          const { changes } = auditNote(by, before as never, after as never);
          const differs = json(before[field]) !== json(value);
          expect(changes.map((each) => each.field)).toEqual(differs ? [shownName(field)] : []);
          expect(json(changes)).not.toContain('planted');
          // An encrypted text counts as a secret.
          expect(json(changes)).not.toMatch(/[\w-]+\.[\w-]{16}\.[\w-]*\.[\w-]{22}/);
        }),
        { numRuns: cases(300) },
      );
    },
  );
});
