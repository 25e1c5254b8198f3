import { outcomeOf } from '../../../bin/config-reencrypt';

const report = { resealed: 1, entries: 3, unreadable: [], dropped: [], notDropped: [] };
const token = {
  id: 'tok_1',
  name: 'Dashboard',
  role: 'read_only',
  hash: 'h',
  createdAt: 'then',
  updatedAt: 'then',
} as const;

test('a reseal says what it did, and lists the tokens of a system whose key is lost', () => {
  expect(outcomeOf(report, undefined)).toEqual(['1 of 3 entries sealed with the first key']);
  expect(outcomeOf({ ...report, dropped: ['token:a'], notDropped: ['token:b'] }, [token])).toEqual([
    '1 of 3 entries sealed with the first key',
    'Deleted, since control did not write them: token:a',
    'Not deleted, since they changed. Run it again: token:b',
    expect.stringContaining('Delete each token that you do not know:'),
    '  tok_1 read_only Dashboard',
  ]);
});

test('a token of a stranger cannot remove itself from the terminal', () => {
  const hidden = { ...token, name: 'x\u001b[2K\u001b[1A\r', role: 'admin' } as const;
  expect(outcomeOf({ ...report, dropped: ['token:\u001b[8m'] }, [hidden])).toEqual([
    expect.anything(),
    'Deleted, since control did not write them: token:\ufffd[8m',
    expect.anything(),
    '  tok_1 admin x\ufffd[2K\ufffd[1A\ufffd',
  ]);
});
