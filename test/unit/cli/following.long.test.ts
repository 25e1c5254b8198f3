import { createServer, type ServerResponse } from 'node:http';
import { type AddressInfo } from 'node:net';
import { type Replay } from '../../../shared/api/operations';
import { begin, type Running } from '../../support/cli';
import { eventually } from '../../support/eventually';

/**
 * The commands that follow something by reading it again and again, against an API that answers as
 * a test says.
 */

/** Answers a request: with the response, or by breaking the connection. */
type Answer = (path: string) => object | 'break';

let answer: Answer;
const asked: string[] = [];
const server = createServer((req, res: ServerResponse) => {
  const path = `${req.method} ${req.url?.replace('/api/v1', '')}`;
  asked.push(path);
  const body = answer(path);
  if (body === 'break') res.destroy();
  else res.setHeader('content-type', 'application/json').end(JSON.stringify(body));
});
let running: Running | undefined;
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
beforeEach(() => (asked.length = 0));
afterEach(() => running?.interrupt());
afterAll(() => new Promise((resolve) => server.close(resolve)));

function follow(...argv: string[]): Running {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  running = begin(argv, { env: { WAYPOST_URL: url, WAYPOST_TOKEN: 'a-token' } });
  return running;
}

/** Answers with one response after the other, and repeats the last one. */
function inOrder(...answers: (object | 'break')[]): Answer {
  return () => answers[Math.min(asked.length, answers.length) - 1]!;
}

const replay = (fields: Partial<Replay>) => ({
  id: 'rpl_1',
  action: 'replay',
  destination: 'dst_1',
  asked: 10,
  cancelled: null,
  attempted: 0,
  delivered: 0,
  failedAgain: 0,
  held: 0,
  preview: false,
  progress: 0,
  error: null,
  ...fields,
});
const RUNNING = replay({
  status: 'running',
  progress: 0.5,
  attempted: 5,
  delivered: 4,
  held: 1,
});
const DONE = replay({
  status: 'done',
  progress: 1,
  attempted: 10,
  delivered: 9,
  failedAgain: 1,
});

describe('a job that is followed', () => {
  test('prints progress once and in order through a broken connection, then a result', async () => {
    answer = inOrder(
      replay({ status: 'counting' }),
      replay({ status: 'counting' }),
      RUNNING,
      'break',
      RUNNING,
      DONE,
    );
    const { code, out, err } = await follow('replay', 'show', 'rpl_1', '--follow').ended;
    expect(err.split('\n')).toEqual([
      'counting 0 %: 10 asked, 0 attempted, 0 delivered',
      'running 50 %: 10 asked, 5 attempted, 4 delivered, 1 still held',
      expect.stringMatching(/^No response at .*Trying again/),
      'Control is back.',
      '',
    ]);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/status +done\n.*\nasked +10\nattempted +10\ndelivered +9\n/),
    ]);
  });

  test('with --json has only its end on standard output', async () => {
    answer = inOrder(RUNNING, RUNNING, DONE);
    const { code, json } = await follow('replay', 'show', 'rpl_1', '--follow', '--json').ended;
    expect([code, json]).toEqual([0, [DONE]]);
  });

  test('ends at once if a later job sent its deliveries again, and says so', async () => {
    answer = inOrder(replay({ status: 'done', progress: 1, asked: 3, superseded: 3 }));
    const { code, out } = await follow('replay', 'show', 'rpl_1', '--follow').ended;
    expect([code, asked.length]).toEqual([0, 2]);
    expect(out).toMatch(
      /superseded +3: sent again or cancelled later, or no longer in the history/,
    );
    expect(out).not.toContain('not ended');
  });

  test('ends with code 1 if the job failed', async () => {
    answer = inOrder(
      RUNNING,
      replay({ status: 'failed', error: 'the destination was switched off' }),
    );
    expect((await follow('replay', 'show', 'rpl_1', '--follow').ended).code).toBe(1);
  });

  test('is left running by Ctrl-C, which prints its state and ends with code 0', async () => {
    answer = inOrder(RUNNING);
    await follow('replay', 'show', 'rpl_1', '--follow').said(/5 attempted/);
    const { code, out } = await running!.interrupt();
    expect([code, out]).toEqual([0, expect.stringMatching(/status +running 50 %/)]);
    expect(asked.filter((path) => !path.startsWith('GET '))).toEqual([]);
  });

  test('ends with code 0 by Ctrl-C also while control is away', async () => {
    answer = inOrder(RUNNING, RUNNING, 'break');
    await follow('replay', 'show', 'rpl_1', '--follow').said(/Trying again/);
    expect((await running!.interrupt()).code).toBe(0);
  });
});

describe('attempts that are followed', () => {
  const delivery = (n: number) => ({
    id: `dlv_${n}`,
    messageId: `m${n}`,
    destination: 'dst_1',
    type: 'track',
    status: 'delivered',
    attempts: [
      {
        n: 1,
        replay: 0,
        at: `2026-01-01T00:00:0${n}.000Z`,
        urls: [{ url: 'whk_1', origin: 'o', outcome: 'delivered' }],
      },
    ],
  });

  test('are printed once and in order through a break, until Ctrl-C ends with code 0', async () => {
    let page: ReturnType<typeof delivery>[] | 'break' = [delivery(1)];
    answer = () => (page === 'break' ? page : { data: page, next: null });
    const tail = follow('tail', '--attempts', '--json');
    await tail.said(/Following attempts/);
    page = [delivery(3), delivery(2), delivery(1)];
    await tail.said(/dlv_3/);
    page = 'break';
    await tail.said(/Trying again/);
    page = [delivery(5), delivery(4), delivery(3)];
    await tail.said(/dlv_5/);
    const seen = asked.length;
    await eventually(() => expect(asked.length).toBeGreaterThan(seen + 1));
    const { code, json } = await tail.interrupt();
    expect([code, json.map((each) => each.delivery)]).toEqual([
      0,
      ['dlv_2', 'dlv_3', 'dlv_4', 'dlv_5'],
    ]);
  });

  test('are printed also behind one of the same number that was not sent', async () => {
    const [made] = delivery(1).attempts;
    const withheld = { ...made!, withheld: true, at: '2026-01-01T00:00:00.500Z' };
    let attempts: object[] = [];
    answer = () => ({ data: [{ ...delivery(1), attempts }], next: null });
    const tail = follow('tail', '--attempts', '--json');
    await tail.said(/Following attempts/);
    attempts = [withheld];
    await tail.said(/00:00.500Z/);
    attempts = [withheld, made!];
    await tail.said(/00:01.000Z/);
    const { json } = await tail.interrupt();
    expect(json.map(({ at }) => at)).toEqual([withheld.at, made!.at]);
  });
});
