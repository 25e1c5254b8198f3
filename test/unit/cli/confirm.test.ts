import { PassThrough } from 'node:stream';
import { type Command } from 'commander';
import { createProgram } from '../../../cli/run';
import { AT_CONTROL, atControl, begin, playControl, waypost } from '../../support/cli';

/** Commands that end, delete or replace something, against a control API in this process. */

const at = '2026-01-01T00:00:00.000Z';
const named = (id: string, name: string) => ({ id, name, version: 7 });
const destination = {
  ...named('dst_1', 'Helios'),
  enabled: true,
  paused: false,
  sources: ['src_1'],
  webhooks: [{ id: 'whk_1', url: 'https://h.example/', headers: {}, disabled: null }],
  hasSharedSecret: true,
};
const definition = {
  destinations: ['dst_1'],
  sources: null,
  status: { phase: 'live', members: 12, counted: 0, of: 0, sent: 0, waiting: 0, lastSync: null },
};
const ENTRIES: Record<string, object> = {
  '/destinations/dst_1': destination,
  '/sources/src_1': { ...named('src_1', 'Site'), oldWriteKeys: [] },
  '/tokens/tok_1': { ...named('tok_1', 'Robot'), role: 'read_only', rights: null, lastUsedAt: at },
  '/audiences/aud_1': { ...named('aud_1', 'Loyal'), condition: null, ...definition },
  '/computed-traits/trt_1': { ...named('trt_1', 'Spent'), compute: 'sum', ...definition },
  '/alerts': {
    version: 1,
    enabled: true,
    webhooks: destination.webhooks,
    email: ['a@b.example', 'c@d.example'],
    switchOffAfter: null,
  },
  '/deliveries/dlv_1': { id: 'dlv_1', event: 'Order', userId: 'u-1', destination: 'dst_1' },
  '/replays/rpl_1': {
    id: 'rpl_1',
    destination: 'dst_1',
    asked: 2_279,
    cancelled: null,
    attempted: 12,
    delivered: 9,
  },
  '/overview': {
    data: [{ destination: 'dst_1', waiting: 9, retrying: 200, held: 3_000, state: 'failing' }],
  },
  '/destinations': { data: [destination, { ...destination, sources: [] }], next: null },
};

let changes: string[];
let requests: number;
beforeEach(() => {
  changes = [];
  requests = 0;
  playControl(({ method, path }) => {
    requests++;
    if (method !== 'GET') changes.push(`${method} ${path}`);
    return method === 'DELETE' ? new Response(null, { status: 204 }) : (ENTRIES[path] ?? {});
  });
});
afterEach(() => jest.restoreAllMocks());

/** Answers the question at a terminal. */
async function atTerminal(argv: string[], answer: string) {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const running = begin(argv, { env: AT_CONTROL, stdin });
  await running.said(/\[y\/N\]/);
  stdin.write(`${answer}\r`);
  return running.ended;
}

const DESTRUCTIVE: [argv: string, question: RegExp, change: string][] = [
  [
    'cancel --destination dst_1',
    /Cancel all .* "Helios" \(dst_1\)\? 3,209 deliveries wait/,
    'POST /destinations/dst_1/cancel',
  ],
  [
    'cancel dlv_1',
    /Cancel 1 delivery, dlv_1: "Order" of u-1 to .* dst_1/,
    'POST /deliveries/dlv_1/cancel',
  ],
  ['replay cancel rpl_1', /rpl_1 .*2279 asked, 12 attempted/, 'POST /replays/rpl_1/cancel'],
  ['destinations delete dst_1', /Delete .*"Helios".* 3,209 /, 'DELETE /destinations/dst_1'],
  ['destinations disable dst_1', /Disable .*"Helios".* 3,209 /, 'PATCH /destinations/dst_1'],
  ['destinations pause dst_1', /Pause .*"Helios".* 3,209 /, 'PATCH /destinations/dst_1'],
  [
    'destinations disable-webhook dst_1 whk_1',
    /whk_1 of .*"Helios".* 3,209 /,
    'POST /destinations/dst_1/disable-webhook',
  ],
  [
    'destinations rotate-secret dst_1',
    /shared secret of .*"Helios".*24h/,
    'POST /destinations/dst_1/rotate-secret',
  ],
  ['sources delete src_1', /"Site" \(src_1\).* 1 destination is/, 'DELETE /sources/src_1'],
  ['sources disable src_1', /"Site".* 1 destination is/, 'PATCH /sources/src_1'],
  ['sources rotate-key src_1', /"Site".* 1 destination is/, 'POST /sources/src_1/rotate-key'],
  ['audiences delete aud_1', /"Loyal".* 1 destination .* 12 users/, 'DELETE /audiences/aud_1'],
  ['traits delete trt_1', /"Spent".* 12 users/, 'DELETE /computed-traits/trt_1'],
  ['tokens revoke tok_1', /Revoke token "Robot" .* read_only/, 'DELETE /tokens/tok_1'],
  ['alerts disable', /1 URL and 2 addresses/, 'PATCH /alerts'],
  ['alerts rotate-secret --overlap 0s', /alerts.*0s/, 'POST /alerts/rotate-secret'],
  [
    'deletions create --user ann --anonymous v1 --anonymous v2',
    /1 user \(ann\) and 2 visitors \(v1, v2\)/,
    'POST /deletions',
  ],
];
const argvOf = (text: string) => text.split(' ');

test.each(DESTRUCTIVE)(
  '%s asks nothing of control and exits with 2 without a terminal and --yes',
  async (text) => {
    const { code, err } = await atControl(...argvOf(text));
    expect([code, requests, err]).toEqual([2, 0, expect.stringContaining('add --yes')]);
  },
);

test.each(DESTRUCTIVE)('%s asks at a terminal with name and number', async (text, question) => {
  const { code, err } = await atTerminal(argvOf(text), 'n');
  expect([code, changes]).toEqual([1, []]);
  expect(err).toMatch(question);
  expect(err).toContain('Nothing was done.');
});

test.each(DESTRUCTIVE)('%s acts after a yes, and with --yes', async (text, _, change) => {
  await atTerminal(argvOf(text), 'y');
  expect(changes).toContain(change);
  changes = [];
  await atControl(...argvOf(text), '--yes');
  expect(changes).toContain(change);
});

test('without a terminal, a replacing import needs --yes, and a trial of it does not', async () => {
  const file = (dry: string[]) =>
    waypost(['import', '-', '--replace', ...dry], {
      env: AT_CONTROL,
      input: JSON.stringify({ format: 'waypost-config', version: 1 }),
    });
  expect([(await file([])).code, requests]).toEqual([2, 0]);
  expect((await file(['--dry-run'])).err).not.toContain('--yes');
});

test('the end of the input is no answer', async () => {
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
  const running = begin(['sources', 'delete', 'src_1'], { env: AT_CONTROL, stdin });
  await running.said(/\[y\/N\]/);
  stdin.end();
  expect([(await running.ended).code, changes]).toEqual([1, []]);
});

/** Their names say that they end something. */
const ENDS = /^(cancel|delete|disable|drop|pause|revoke|rotate|erase)/;

test('every command whose name says that it ends something has --yes', async () => {
  const world = { out: () => undefined, err: () => undefined };
  const program = await createProgram({ world: world as never, exitCode: 0 });
  const all = (command: Command): Command[] => [command, ...command.commands.flatMap(all)];
  const ends = all(program).filter((command) => ENDS.test(command.name()));
  expect(ends.length).toBeGreaterThan(12);
  const bare = ends.filter(({ options }) => !options.some(({ long }) => long === '--yes'));
  expect(bare.map((command) => command.name())).toEqual([]);
});
