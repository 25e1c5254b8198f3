import { auditNote } from '../../../../services/control/access/audit';
import { type Destination } from '../../../../shared/domain/config';
import { aSource } from '../../../support/fakes';

const by = { id: 'tok_1', name: 'Kim', role: 'admin' } as const;
const destination: Destination = {
  ...{ id: 'dst_1', name: 'Hooks', type: 'webhooks', enabled: false, paused: false, sources: [] },
  webhooks: [{ id: 'whk_1', url: 'sealed-url', origin: 'https://a.example', headers: { 'X-Key': 'sealed-key' } }],
  secrets: { current: 'sealed-secret' },
  ...{ createdAt: 'then', updatedAt: 'then' },
};
const note = (after: Partial<Destination>) => auditNote(by, 'destination', destination, { ...destination, ...after });

it('says who did what to which entry', () => {
  expect(auditNote(by, 'source', undefined, aSource())).toMatchObject({ by, action: 'created', name: 'shop' });
  expect(auditNote(by, 'source', aSource(), undefined)).toMatchObject({ action: 'deleted', name: 'shop' });
  expect(note({ name: 'New' })).toMatchObject({ action: 'changed', name: 'New' });
});

it.each<[string, Partial<Destination>, object[]]>([
  ['nothing', { updatedAt: 'now' }, []],
  ['a switch', { enabled: true }, [{ field: 'enabled', from: false, to: true }]],
  ['a list', { sources: ['src_1'] }, [{ field: 'sources', from: [], to: ['src_1'] }]],
  ['what was not there', { types: ['page'] }, [{ field: 'types', from: null, to: ['page'] }]],
  ['a secret', { secrets: { current: 'other' } }, [{ field: 'sharedSecret', from: '***', to: '***' }]],
])('tells what changed: %s', (_, after, changes) => {
  expect(note(after).changes).toEqual(changes);
});

it('tells that an address or a header changed, and not to what', () => {
  const [webhook] = destination.webhooks;
  const shown = { id: 'whk_1', origin: 'https://a.example', address: '***', headers: { 'X-Key': '***' } };
  expect(note({ webhooks: [{ ...webhook!, url: 'sealed-other' }] }).changes).toEqual([
    { field: 'webhooks', from: [shown], to: [shown] },
  ]);
});

it('holds nothing that is secret', () => {
  const source = aSource({ writeKeys: [{ key: 'planted-key' }] });
  const token = {
    id: 'tok_1',
    name: 'Kim',
    role: 'admin' as const,
    hash: 'planted-hash',
    createdAt: '',
    updatedAt: '',
  };
  const notes = [
    auditNote(by, 'source', undefined, source),
    auditNote(by, 'source', source, { ...source, writeKeys: [{ key: 'planted-other' }] }),
    auditNote(by, 'token', token, undefined),
    note({ secrets: { current: 'sealed-other' }, webhooks: [] }),
  ];
  expect(JSON.stringify(notes)).not.toMatch(/planted|sealed/);
});
