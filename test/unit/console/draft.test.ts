import {
  creationOf,
  draftOf,
  emptyDraft,
  patchOf,
  problemsOf,
  urlProblem,
} from '../../../console/src/destination/draft';
import { differences } from '../../../console/src/destination/conflict';
import { type Destination } from '../../../shared/api/operations';

const STORED: Destination = {
  id: 'dst_1',
  name: 'Shop',
  type: 'webhooks',
  enabled: true,
  paused: false,
  sources: ['src_1'],
  webhooks: [{ id: 'wh_1', url: 'https://example.com/hook', headers: { Authorization: { keep: true } } }],
  hasSharedSecret: true,
  secretRotation: null,
  types: null,
  maxPerSecond: null,
  shards: 4,
  version: 3,
  createdAt: '2026-01-01T00:00:00.000Z',
  updatedAt: '2026-01-01T00:00:00.000Z',
};

describe('a URL while it is typed', () => {
  it.each([
    ['', 'Enter where'],
    ['example.com', 'http:// or https://'],
    ['https://', 'no host'],
    ['https://user:pass@example.com/', 'user name or password'],
    ['https://example.com/#top', 'fragment'],
    ['ftp://example.com/', 'http:// or https://'],
  ])('%s is refused', (url, why) => {
    expect(urlProblem(url)).toContain(why);
  });

  it('is good as soon as it can be called', () => {
    expect(urlProblem('https://example.com/hook?token=1')).toBeUndefined();
  });
});

describe('what is wrong with a draft', () => {
  it('is named by field, as the API names fields', () => {
    const draft = {
      ...emptyDraft([]),
      name: ' ',
      types: [],
      maxPerSecond: 'many',
      webhooks: [
        {
          url: 'nowhere',
          headers: [
            { name: 'X-Key', value: 'a', kept: false },
            { name: 'x-key', value: 'b', kept: false },
            { name: 'Host', value: 'c', kept: false },
            { name: 'X-Empty', value: '', kept: false },
          ],
        },
      ],
    };
    expect([...problemsOf(draft).keys()]).toEqual([
      'name',
      'webhooks/0/url',
      'webhooks/0/headers/1',
      'webhooks/0/headers/2',
      'webhooks/0/headers/3',
      'types',
      'maxPerSecond',
    ]);
  });

  it('is nothing where it is as it was stored', () => {
    expect(problemsOf(draftOf(STORED)).size).toBe(0);
  });
});

describe('what is sent', () => {
  it('is switched off where it is new', () => {
    const draft = { ...emptyDraft(['src_1']), webhooks: [{ url: 'https://example.com/', headers: [] }] };
    expect(creationOf(draft)).toEqual({
      name: 'Webhooks',
      type: 'webhooks',
      enabled: false,
      sources: ['src_1'],
      webhooks: [{ url: 'https://example.com/', headers: {} }],
    });
  });

  it('is nothing where nothing was changed', () => {
    expect(patchOf(STORED, draftOf(STORED))).toEqual({});
  });

  it('is only what was changed, and stored header values are kept', () => {
    const draft = draftOf(STORED);
    draft.webhooks[0]!.url = 'https://example.com/other';
    draft.webhooks[0]!.headers.push({ name: 'X-New', value: 'v', kept: false });
    expect(patchOf(STORED, { ...draft, maxPerSecond: '5', types: ['track'] })).toEqual({
      webhooks: [
        { id: 'wh_1', url: 'https://example.com/other', headers: { Authorization: { keep: true }, 'X-New': 'v' } },
      ],
      maxPerSecond: 5,
      types: ['track'],
    });
  });

  it('removes by null', () => {
    const limited = { ...STORED, maxPerSecond: 5, types: ['track' as const] };
    const draft = { ...draftOf(limited), maxPerSecond: '', types: null };
    expect(patchOf(limited, draft)).toEqual({ maxPerSecond: null, types: null });
  });
});

describe('a conflict', () => {
  it('shows what each has changed, and no value of a header', () => {
    const theirs = { ...STORED, name: 'Store', paused: true };
    const draft = draftOf(STORED);
    draft.webhooks[0]!.headers[0] = { name: 'Authorization', value: 'planted', kept: false };
    const found = differences(STORED, theirs, patchOf(STORED, { ...draft, name: 'My shop', sharedSecret: 'planted' }));
    expect(found.map(({ name, before, theirs: now, mine }) => [name, before, now, mine])).toEqual([
      ['Name', 'Shop', 'Store', 'My shop'],
      ['URLs and headers', ...Array<string>(3).fill('https://example.com/hook (Authorization)')],
      ['Paused', 'no', 'yes', undefined],
      ['Secret', 'yes', 'yes', 'a new one'],
    ]);
    expect(JSON.stringify(found)).not.toContain('planted');
  });
});
