import { SERVICES } from '../../bin/service-list';
import { call } from '../../tools/harness/api';
import { startSystem, type System } from '../../tools/harness/system';
import { eventually } from '../support/eventually';

/**
 * A read-only token that asks control for as much work as it can, in a system with the memory of a
 * container: each request gets an answer, others are served meanwhile, and no process ends.
 */

/** The heap of control in the chart. A process that needs more ends. */
const HEAP = '--max-old-space-size=640';
const TRIALS = 288;
/** The most requests with expressions of one token that control takes at once. */
const AT_ONCE = 16;
const EVENTS = 50;

/** Each makes an automaton with a state for almost every character that it reads. */
const trial = (i: number) => {
  const pattern = `[0-9a-f-]*[0-7][0-9a-f-]{${20 + (i % 15)}}[g-z]${i % 10}?[x-z]{${1 + Math.floor(i / 10)}}`;
  return { filter: `messageId.matches("${pattern}")`, limit: EVENTS };
};
/** Compiling one of its headers would take 0.5 s and 90 MB. */
const preview = (headers: number) => ({
  destination: {
    request: {
      headers: Object.fromEntries(
        Array.from({ length: headers }, (_, i) => [
          `x-h${i}`,
          `name.matches("${'(a|bb|c){1000}'.repeat(30)}z${i}") ? "a" : "b"`,
        ]),
      ),
    },
  },
});

/**
 * In one process, an attack on control is one on the other services too. `CASES=all` also tries a
 * system with a process for each service.
 */
const SYSTEMS = [
  { processes: 'in one process', together: true },
  { processes: 'with a process for each service', together: false },
].slice(0, process.env.CASES === 'all' ? 2 : 1);

describe.each(SYSTEMS)('a system $processes', ({ together }) => {
  let system: System;
  let writeKey: string;
  let token: string;
  let pids: number[][];
  beforeAll(async () => {
    system = await startSystem({ together, env: { NODE_OPTIONS: HEAP } });
    ({ writeKey } = await system.createSource());
    const made = await system.control('POST', '/tokens', { name: 'reader', role: 'read_only' });
    token = made.body.token;
    const batch = Array.from({ length: EVENTS }, (__, i) => ({
      type: 'track',
      userId: 'u',
      event: 'e',
      messageId: `${i}-0123456789abcdef-76543210fedcba98-01234567`,
    }));
    expect((await system.send(writeKey, 'batch', { batch })).status).toBe(200);
    await eventually(async () =>
      expect((await ask('/filters/try', { filter: 'true' })).body.tried).toBe(EVENTS),
    );
    pids = SERVICES.map((name) => system.pids(name));
  });
  afterAll(() => system.discard());

  const ask = (path: string, body: object) =>
    call('POST', `${system.controlUrl}/api/v1${path}`, { authorization: `Bearer ${token}` }, body);

  /** Uses control and ingest as others do, as long as an attack takes. */
  async function others(attack: Promise<unknown>): Promise<Set<number>> {
    let isOver = false;
    const ends = () => (isOver = true);
    void attack.then(ends, ends);
    const statuses = new Set<number>();
    do {
      const answers = await Promise.all([
        system.control('GET', '/sources'),
        system.send(writeKey, 'identify', { userId: 'other' }),
      ]);
      for (const { status } of answers) statuses.add(status);
    } while (!isOver);
    return statuses;
  }

  test(`${TRIALS} trials at once leave nothing behind, and each is answered in turn`, async () => {
    const waiting: number[] = [];
    let tried = 0;
    const tryOne = async (i: number) => {
      // Refused at once, or, on a busy machine, too late for its client: it asks again.
      const answer = await ask('/filters/try', trial(i)).catch(() => undefined);
      if (answer === undefined || answer.status === 429) {
        waiting.push(i);
        return;
      }
      expect(answer.status).toBe(200);
      tried += answer.body.tried > 0 ? 1 : 0;
    };
    const attack = async () => {
      await Promise.all(Array.from({ length: TRIALS }, (__, i) => tryOne(i)));
      while (waiting.length > 0) await Promise.all(waiting.splice(0, AT_ONCE).map(tryOne));
    };
    const attacking = attack();
    expect(await others(attacking)).toEqual(new Set([200]));
    await attacking;
    expect(tried).toBe(TRIALS);
    expect(SERVICES.map((name) => system.pids(name))).toEqual(pids);
  });

  test('forty previews of 2,000 headers at once are refused before they are compiled', async () => {
    const body = preview(2_000);
    const attack = Promise.all(
      Array.from({ length: 40 }, () => ask('/destinations/preview', body)),
    );
    expect(await others(attack)).toEqual(new Set([200]));
    const answers = await attack;
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([422]));
    expect(answers[0]!.body.errors).toEqual([
      {
        pointer: '#/destination/request/headers',
        detail: 'there are 2000 headers; at most 20 are allowed',
      },
    ]);
    expect(SERVICES.map((name) => system.pids(name))).toEqual(pids);
  });

  test('forty previews with the most and the largest headers name each', async () => {
    const body = preview(20);
    const attack = Promise.all(
      Array.from({ length: 40 }, () => ask('/destinations/preview', body)),
    );
    expect(await others(attack)).toEqual(new Set([200]));
    const answers = await attack;
    const refused = answers.filter(({ status }) => status === 422);
    expect(refused.length).toBeGreaterThan(0);
    for (const { body: problem } of refused) expect(problem.errors).toHaveLength(20);
    expect(answers.filter(({ status }) => ![422, 429].includes(status))).toEqual([]);
    expect(SERVICES.map((name) => system.pids(name))).toEqual(pids);
  });
});
