import { type DeliveryEvent } from '../../../shared/model/attempt-events';
import { deliveryId } from '../../../shared/model/delivery';
import { type Role, ROLES } from '../../../tools/chaos/scenario';
import { Commits } from '../../../tools/chaos/commits';
import { type Disturbance, IN_FLIGHT_MS } from '../../../tools/chaos/explain-repeats';
import { History } from '../../../tools/chaos/history';
import { type Evidence, mislisted, verifyRun } from '../../../tools/chaos/verify-run';
import { encodeNote, MOST_NOTE_BYTES } from '../../../shared/kafka/consumer/commit-note';
import { type Breach } from '../../../tools/harness/standing-invariants';
import { Receipts } from '../../../tools/chaos/receipts';
import { LISTED, type ShownHistory } from '../../../tools/chaos/shown-history';
import { violationsOf } from '../../../tools/chaos/report';

const note = (runs: number[]) =>
  encodeNote(0, { owner: 1, last: undefined, runs }, MOST_NOTE_BYTES);

const SOURCE = 'src_1';
const T = Date.parse('2026-01-01T00:00:00.000Z');
const idOf = (message: string, role: Role) => deliveryId(SOURCE, message, role);

/** Builds a run, one event per line. */
function aRun(acknowledged: string[], disturbances: Disturbance[] = []) {
  const receipts = Object.fromEntries(ROLES.map((role) => [role, new Receipts()])) as Record<
    Role,
    Receipts
  >;
  const destinations = Object.fromEntries(ROLES.map((role) => [role, role])) as Record<
    Role,
    string
  >;
  const history = new History(
    new Set(acknowledged.flatMap((message) => ROLES.map((role) => idOf(message, role)))),
  );
  const commits = new Commits('waypost-delivery');
  const breaches: Breach[] = [];
  const lastAsked = Object.fromEntries(
    ROLES.map((role) => [role, new Map<string, number>()]),
  ) as Record<Role, Map<string, number>>;
  /** what control shows, and should not */
  const wrong: { delivered: Partial<Record<Role, number>>; rows: Map<string, number> } = {
    delivered: {},
    rows: new Map(),
  };
  const shown = (): ShownHistory => {
    const counted = ROLES.map((role) => [role, history.totalsOf(role).delivered] as const);
    const delivered = { ...Object.fromEntries(counted), ...wrong.delivered } as Record<
      Role,
      number
    >;
    const rows = [...history.totalsOf(LISTED).deliveries.keys()].map((id) => [id, 1] as const);
    return { delivered, rows: new Map([...rows, ...wrong.rows]) };
  };
  const cuts = { records: 0, before: new Set<string>() };
  const evidence: Evidence = {
    sourceId: SOURCE,
    destinations,
    acknowledged,
    cuts,
    receipts,
    history,
    commits,
    disturbances,
    breaches,
    lastAsked,
    get shown() {
      return shown();
    },
  };
  const event = (message: string, role: Role, what: object) => {
    const record = { topic: 'webhooks', partition: 0, offset: 1 };
    const about = {
      delivery: idOf(message, role),
      destination: role,
      at: new Date(T).toISOString(),
      n: 1,
      hop: 0,
      urls: [],
      record,
    };
    const said = { ...about, ...what } as unknown as DeliveryEvent;
    history.event(said, Date.parse(said.at));
  };
  const run = {
    take: (message: string, role: Role, at = T) => receipts[role].take(idOf(message, role), at),
    delivered: (message: string, role: Role, more: object = {}) =>
      event(message, role, { kind: 'attempt', outcome: 'delivered', ...more }),
    retried: (message: string, role: Role, at: number) =>
      event(message, role, { kind: 'attempt', outcome: 'retry', at: new Date(at).toISOString() }),
    dead: (message: string, role: Role, reason: string, letter = true) => {
      event(message, role, { kind: 'dead', reason });
      if (letter) history.letter(idOf(message, role), reason);
    },
    cancelled: (message: string, role: Role) =>
      event(message, role, { kind: 'cancelled', reason: 'off' }),
    waiting: (message: string, role: Role) =>
      event(message, role, { kind: 'waiting', reason: 'backoff' }),
    /**
     * Adds a copy in a tier, `hop` waits and `attempts` attempts after the delivery was created.
     */
    waits: (message: string, role: Role, copy: { hop: number; attempts: number; at: number }) =>
      history.tierRecord(idOf(message, role), {
        hop: copy.hop,
        attempts: copy.attempts,
        writtenAt: copy.at,
        expiresAt: T + 60_000,
      }),
    history,
    cuts,
    breaches,
    wrong,
    asked: (message: string, role: Role, at: number) =>
      lastAsked[role].set(idOf(message, role), at),
    /**
     * Commits an offset in webhooks/0, where records are usually at offset 1; `metadata` names the
     * records done above it.
     */
    committed: (offset: number, at: number, metadata = '') =>
      commits.add({ topic: 'webhooks', partition: 0, offset, metadata }, at),
    verdict: () => verifyRun(evidence),
    violations: () => violationsOf(verifyRun(evidence)),
  };
  return run;
}

type Run = ReturnType<typeof aRun>;

/** A track call that arrived: it goes to one endpoint only. */
function delivered(disturbances: Disturbance[] = []) {
  const run = aRun(['track-1'], disturbances);
  run.take('track-1', 'steady');
  run.delivered('track-1', 'steady');
  return run;
}

const kill = (at: number, over: Partial<Disturbance> = {}): Disturbance => ({
  what: 'kill delivery',
  at,
  until: at + 1_000,
  may: ['flight'],
  ...over,
});

describe('the ends of acknowledged messages', () => {
  test('a delivery that is recorded as delivered and was received violates nothing', () => {
    const run = delivered();
    expect(run.verdict()).toMatchObject({ acknowledged: 1, deliveries: 1, delivered: 1 });
    expect(run.violations()).toEqual([]);
  });

  test('a message may be gone that was acknowledged before a power cut', () => {
    const run = aRun(['track-1', 'page-2']);
    run.cuts.records = 2;
    for (const message of ['track-1', 'page-2']) run.cuts.before.add(message);
    expect(run.violations()).toEqual([]);
    expect(run.verdict()).toMatchObject({
      deliveries: 0,
      cutOff: { messages: new Set(['track-1', 'page-2']) },
    });
    run.cuts.records = 1;
    expect(run.violations()).toEqual(['2 messages are gone, and 1 records were cut off']);
  });

  test.each([
    ['its record is there', (run: Run) => run.history.message('track-1')],
    ['it was acknowledged after the cut', (run: Run) => run.cuts.before.delete('track-1')],
    ['it was routed before', (run: Run) => run.waiting('track-1', 'steady')],
  ])('a message is lost despite a power cut if %s', (_what, happens) => {
    const run = aRun(['track-1']);
    run.cuts.records = 1;
    run.cuts.before.add('track-1');
    happens(run);
    expect(run.verdict().crimes.lost).toMatchObject([{ message: 'track-1' }]);
  });

  test('a delivery without a recorded end is lost', () => {
    const run = aRun(['track-1']);
    run.waiting('track-1', 'steady');
    expect(run.verdict().crimes.lost).toMatchObject([{ message: 'track-1', role: 'steady' }]);
    expect(run.violations()).toHaveLength(1);
  });

  test('each destination has its own verdict', () => {
    const run = delivered();
    const both = aRun(['page-1']);
    both.take('page-1', 'steady');
    both.delivered('page-1', 'steady');
    expect(run.verdict().deliveries).toBe(1);
    expect(both.verdict()).toMatchObject({ deliveries: 2, delivered: 1 });
    expect(both.verdict().crimes.lost).toMatchObject([{ role: 'slow' }]);
  });

  test('a delivery that is recorded as delivered and was never received is a violation', () => {
    const run = aRun(['track-1']);
    run.delivered('track-1', 'steady');
    expect(run.verdict().crimes.notTaken).toHaveLength(1);
  });

  test('a dead delivery is a violation at a healthy endpoint only', () => {
    const run = aRun(['group-1']);
    run.dead('group-1', 'rejecting', 'rejected');
    run.dead('group-1', 'resetting', 'window_closed');
    run.dead('group-1', 'steady', 'window_closed');
    expect(run.verdict().dead).toEqual({
      'rejecting: rejected': 1,
      'resetting: window_closed': 1,
      'steady: window_closed': 1,
    });
    expect(run.verdict().crimes.deadAtHealthy).toMatchObject([{ role: 'steady' }]);
  });

  test('a dead delivery without a dead letter is a violation', () => {
    const run = aRun(['screen-1']);
    run.take('screen-1', 'steady');
    run.delivered('screen-1', 'steady');
    run.dead('screen-1', 'failing', 'window_closed', false);
    expect(run.verdict().crimes.noLetter).toMatchObject([{ role: 'failing' }]);
  });

  test('a call after its destination was disabled is not routed; one before must end', () => {
    const run = aRun(['identify-1', 'identify-2']);
    for (const message of ['identify-1', 'identify-2']) {
      run.take(message, 'steady');
      run.delivered(message, 'steady');
      run.dead(message, 'hanging', 'window_closed');
    }
    run.cancelled('identify-1', 'leaving');
    expect(run.verdict()).toMatchObject({ cancelled: 1, notRouted: 1 });
    expect(run.violations()).toEqual([]);
    run.waiting('identify-2', 'leaving');
    expect(run.verdict().crimes.lost).toMatchObject([{ message: 'identify-2', role: 'leaving' }]);
  });

  test('delivered is final, and a second kind of end is a contradiction', () => {
    const run = delivered();
    run.dead('track-1', 'steady', 'window_closed');
    expect(run.verdict()).toMatchObject({
      delivered: 1,
      contradictions: [{ why: 'delivered and dead' }],
    });
  });

  test('copies of a message count from the second on', () => {
    const run = delivered();
    for (let i = 0; i < 3; i++) run.history.message('track-1');
    expect(run.verdict().copies).toBe(2);
  });
});

describe('repeats', () => {
  const repeated = (disturbances: Disturbance[], at = T + 5_000) => {
    const run = delivered(disturbances);
    run.take('track-1', 'steady', at);
    run.delivered('track-1', 'steady');
    return run;
  };
  const report = (run: ReturnType<typeof aRun>) => run.verdict().repeats.steady;

  test('a repeat without a reason is a violation', () => {
    const run = repeated([]);
    expect(report(run)?.unexplained).toHaveLength(1);
    expect(run.violations()).toHaveLength(1);
  });

  test('a kill explains a repeat of a request in flight', () => {
    const run = repeated([kill(T + 100)]);
    expect(report(run)).toMatchObject({
      total: 1,
      reasons: { in_flight: 1 },
      shares: [{ what: 'kill delivery', repeats: 1, inFlight: 1, fromMs: -100, untilMs: -100 }],
    });
    expect(run.violations()).toEqual([]);
  });

  test('a kill explains a request that arrives up to half a second after the signal', () => {
    expect(report(repeated([kill(T - 700)]))?.unexplained).toHaveLength(1);
    expect(report(repeated([kill(T - 700, { struckAt: T - 400 })]))).toMatchObject({
      reasons: { in_flight: 1 },
    });
    expect(report(repeated([kill(T - 700, { struckAt: T - 501 })]))?.unexplained).toHaveLength(1);
  });

  test('a kill does not explain a repeat of a delivery that was recorded long before it', () => {
    expect(report(repeated([kill(T + IN_FLIGHT_MS + 1)]))?.unexplained).toHaveLength(1);
  });

  test('a kill does not explain a repeat of a delivery committed shortly before', () => {
    const with_ = (...commit: [offset: number, at: number, metadata?: string]) => {
      const run = repeated([kill(T + 100)]);
      run.committed(...commit);
      return report(run)?.unexplained;
    };
    expect(with_(2, T + 50)).toHaveLength(1);
    expect(with_(0, T + 50, note([1, 1]))).toHaveLength(1);
    expect(with_(1, T + 50)).toEqual([]);
    expect(with_(0, T + 50, note([2, 1]))).toEqual([]);
    expect(with_(2, T + 150)).toEqual([]);
  });

  test('a kill explains a delivery without a commit for seconds only after another fault', () => {
    const late = kill(T + IN_FLIGHT_MS + 2_000);
    const rebalance = { what: 'second delivery joins', at: T - 500, until: T + 500, may: [] };
    expect(report(repeated([rebalance, late], T + 9_000))).toMatchObject({
      reasons: { in_flight: 1 },
    });
    expect(report(repeated([late], T + 9_000))?.unexplained).toHaveLength(1);
    const run = repeated([rebalance, late], T + 9_000);
    run.committed(2, T + 3_000);
    expect(report(run)?.unexplained).toHaveLength(1);
  });

  test('a kill explains a repeat if the first request has no recorded outcome', () => {
    const run = aRun(['track-1'], [kill(T + 9_000)]);
    run.take('track-1', 'steady');
    run.take('track-1', 'steady', T + 12_000);
    run.delivered('track-1', 'steady', { at: new Date(T + 12_100).toISOString() });
    expect(report(run)).toMatchObject({ reasons: { in_flight: 1 }, unexplained: [] });
  });

  test('a kill does not explain a repeat before it', () => {
    expect(report(repeated([kill(T + 6_000)], T + 5_000))?.unexplained).toHaveLength(1);
  });

  test('an orderly stop does not explain a repeat', () => {
    expect(report(repeated([kill(T + 100, { may: [] })]))?.unexplained).toHaveLength(1);
  });

  test('a broker that was away explains a repeat of a request during that time', () => {
    const away = kill(T - 4_000, {
      what: 'kill broker',
      until: T + 1_000,
      may: ['flight_until', 'writes'],
    });
    expect(report(repeated([away]))).toMatchObject({ reasons: { in_flight: 1 } });
  });

  test('an attempt without a usable response explains the next one', () => {
    const run = delivered();
    run.retried('track-1', 'steady', T + 3_000);
    run.take('track-1', 'steady', T + 5_000);
    expect(report(run)).toMatchObject({ reasons: { unanswered: 1 }, unexplained: [] });
  });

  test('a delivery that continued after its end needs a fault while its record was open', () => {
    const forked = (disturbances: Disturbance[], committedAt?: number) => {
      const run = repeated(disturbances, T + 30_000);
      const at = new Date(T + 30_000).toISOString();
      run.delivered('track-1', 'steady', {
        hop: 2,
        record: { topic: 'webhooks.due', partition: 0, offset: 9 },
        at,
      });
      if (committedAt !== undefined) run.committed(2, committedAt);
      return report(run);
    };
    const before = kill(T - 5_000);
    expect(forked([before], T + 50)).toMatchObject({ reasons: { forked: 1 }, unexplained: [] });
    expect(forked([], T + 50)?.unexplained).toHaveLength(1);
    expect(forked([before], T - 6_000)?.unexplained).toHaveLength(1);
  });

  test.each([
    ['after both branches ended', T + 3_600_000, T + 30_000],
    ['between the attempts of both branches', T + 10_000, T + 30_000],
  ])(
    'a delivery that continued after it was delivered explains one repeat, not a second one %s',
    (_, third, end) => {
      const run = delivered([kill(T - 5_000)]);
      for (const at of [third, end].sort()) run.take('track-1', 'steady', at);
      const record = { topic: 'webhooks.due', partition: 0, offset: 9 };
      run.delivered('track-1', 'steady', { hop: 2, record, at: new Date(end).toISOString() });
      run.committed(2, T + 50);
      expect(report(run)).toMatchObject({ total: 2, reasons: { forked: 1 } });
      expect(report(run)?.unexplained).toHaveLength(1);
    },
  );

  describe('repeats of a diverted delivery whose record is read again after its copy', () => {
    /**
     * The times of the copy in the tier, of the commit of the record, and of the attempts of the
     * copy and the record.
     */
    interface Diversion {
      copiedAt?: number;
      copyHop?: number;
      copyAttempts?: number;
      committedAt?: number;
      copyTriedAt?: number;
      copyOutcome?: string;
      recordTriedAt?: number;
      /** time of a third request, from a record that was committed long before */
      thirdAt?: number;
    }
    const diverted = (faults: Disturbance[], times: Diversion = {}) => {
      const {
        copiedAt = T,
        copyHop = 1,
        copyAttempts = 0,
        copyTriedAt = T + 2_000,
        recordTriedAt = T + 3_000,
      } = times;
      const run = aRun(['track-1'], faults);
      const tried = (at: number, hop: number, record: object, outcome = 'delivered') => {
        run.take('track-1', 'steady', at);
        run.delivered('track-1', 'steady', {
          at: new Date(at).toISOString(),
          hop,
          record,
          outcome,
        });
      };
      run.waits('track-1', 'steady', { hop: copyHop, attempts: copyAttempts, at: copiedAt });
      tried(
        copyTriedAt,
        copyHop,
        { topic: 'webhooks.due', partition: 0, offset: 9 },
        times.copyOutcome,
      );
      tried(recordTriedAt, 0, { topic: 'webhooks', partition: 0, offset: 1 });
      if (times.thirdAt !== undefined) run.take('track-1', 'steady', times.thirdAt);
      if (times.committedAt !== undefined) run.committed(2, times.committedAt);
      return report(run);
    };
    const killed = kill(T + 100);

    test("a kill before a diverted record's commit explains that it and its copy are sent", () => {
      expect(diverted([killed])).toMatchObject({
        reasons: { diverted: 1 },
        unexplained: [],
        shares: [{ what: 'kill delivery', repeats: 1 }],
      });
    });

    test('a kill explains the repeat if the copy waited again, or the commit came later', () => {
      expect(diverted([killed], { committedAt: T + 4_000 })).toMatchObject({
        reasons: { diverted: 1 },
      });
      const run = aRun(['track-1'], [killed]);
      run.waits('track-1', 'steady', { hop: 1, attempts: 0, at: T });
      run.waits('track-1', 'steady', { hop: 2, attempts: 0, at: T + 1_500 });
      run.take('track-1', 'steady', T + 2_500);
      const record = { topic: 'webhooks.due', partition: 0, offset: 9 };
      run.delivered('track-1', 'steady', { at: new Date(T + 2_500).toISOString(), hop: 2, record });
      run.take('track-1', 'steady', T + 3_000);
      run.delivered('track-1', 'steady', { at: new Date(T + 3_000).toISOString() });
      expect(report(run)).toMatchObject({ reasons: { diverted: 1 }, unexplained: [] });
    });

    test.each([
      ['later', T + 3_600_000],
      ['between the copy and the record', T + 2_500],
    ])(
      'a diversion explains one repeat, and a third receipt %s stays unexplained',
      (_, thirdAt) => {
        const found = diverted([killed], { thirdAt, committedAt: T + 4_000 });
        expect(found).toMatchObject({ total: 2, reasons: { diverted: 1 } });
        expect(found?.unexplained).toHaveLength(1);
      },
    );

    test('a late kill explains the repeat only if the copy was written during a rebalance', () => {
      const late = kill(T + 60_000);
      const times = { copyTriedAt: T + 61_000, recordTriedAt: T + 62_000 };
      const earlier = (at: number) => kill(at, { what: 'kill router', may: ['writes'] });
      expect(diverted([earlier(T - 1_000), late], times)).toMatchObject({
        reasons: { diverted: 1 },
      });
      expect(diverted([earlier(T + 30_000), late], times)?.unexplained).toHaveLength(1);
    });

    test.each<[string, Disturbance[], Diversion]>([
      ['without a fault', [], {}],
      ['if the copy was not delivered', [killed], { copyOutcome: 'rejected' }],
      ['after an orderly stop', [kill(T + 100, { may: [] })], {}],
      ['after a fault of another service', [kill(T + 100, { may: ['writes'] })], {}],
      ['if the record was committed before the kill', [killed], { committedAt: T + 50 }],
      ['if the copy was written after the kill', [killed], { copiedAt: T + 700 }],
      [
        'if the kill came long after the copy',
        [kill(T + IN_FLIGHT_MS + 1)],
        { copyTriedAt: T + 2_500 },
      ],
      [
        'if the kill came after the record was tried',
        [kill(T + 1_000)],
        { copyTriedAt: T + 400, recordTriedAt: T + 600 },
      ],
      ['if the kill came after the repeat', [kill(T + 4_000)], { copiedAt: T + 3_500 }],
      ['if the record was tried long after the kill', [killed], { recordTriedAt: T + 121_000 }],
      ['if the copy followed an attempt', [killed], { copyAttempts: 1 }],
      ['if the copy is of another wait', [killed], { copyHop: 3 }],
    ])('a repeat of a diverted delivery stays unexplained %s', (_, faults, times) => {
      expect(diverted(faults, times)?.unexplained).toHaveLength(1);
    });

    test('a repeat of a delivery without a copy in a tier stays unexplained', () => {
      const run = delivered([killed]);
      run.take('track-1', 'steady', T + 3_000);
      const record = { topic: 'webhooks.due', partition: 0, offset: 9 };
      run.delivered('track-1', 'steady', { at: new Date(T + 2_900).toISOString(), hop: 1, record });
      run.committed(2, T + 50);
      expect(report(run)?.unexplained).toHaveLength(1);
    });
  });

  test('two equal records need a fault of their writer', () => {
    const twice = (disturbances: Disturbance[]) => {
      const run = repeated(disturbances);
      run.delivered('track-1', 'steady', {
        record: { topic: 'webhooks', partition: 0, offset: 2 },
      });
      return report(run);
    };
    const router = kill(T - 30_000, { what: 'kill router', may: ['writes'] });
    expect(twice([router])).toMatchObject({ reasons: { written_twice: 1 }, unexplained: [] });
    expect(twice([])?.unexplained).toHaveLength(1);
  });
});

describe('the standing invariants', () => {
  const early = (message: string): Breach => {
    return {
      what: 'attempted before the time asked for',
      delivery: idOf(message, 'throttled'),
      url: 'throttled',
      previousAt: T,
      notBefore: T + 2_000,
      atMs: T + 500,
    };
  };

  test('a request before the time asked for is a violation', () => {
    const run = aRun([]);
    run.breaches.push(early('alias-1'));
    expect(violationsOf(run.verdict())).toEqual([
      expect.stringContaining('attempted before the time asked for: 1'),
    ]);
  });

  test('unless a process was killed before it had written the response', () => {
    const run = aRun(
      ['alias-1'],
      [{ what: 'kill delivery', at: T + 100, until: T + 5_000, may: ['flight'] }],
    );
    run.breaches.push(early('alias-1'));
    expect(run.verdict().breaches).toEqual({ total: 1, unexplained: [] });
  });

  test('a request to a URL that is off is one, unless something was broken then', () => {
    const off: Breach = { ...early('group-1'), what: 'sent to a URL that is off', url: 'gone' };
    const frozen = { what: 'freeze delivery', at: T, until: T + 400, may: [] };
    const [sound, broken] = [aRun([]), aRun([], [frozen])];
    sound.breaches.push(off);
    broken.breaches.push(off);
    expect(sound.verdict().breaches.unexplained).toEqual([off]);
    expect(broken.verdict().breaches.unexplained).toEqual([]);
  });

  test('so is a request after a cancellation was written', () => {
    const run = aRun(['identify-1']);
    for (const role of ROLES) if (role !== 'leaving') run.delivered('identify-1', role);
    run.cancelled('identify-1', 'leaving');
    run.asked('identify-1', 'leaving', T + 500);
    expect(run.verdict().crimes.sentAfterCancellation).toEqual([]);
    run.asked('identify-1', 'leaving', T + 5_000);
    expect(run.verdict().crimes.sentAfterCancellation).toMatchObject([{ message: 'identify-1' }]);
  });
});

describe('what control shows', () => {
  const rejected = () => {
    const run = delivered();
    run.take('group-1', 'steady');
    run.delivered('group-1', 'steady');
    run.dead('group-1', 'rejecting', 'rejected');
    return run;
  };

  test('violates nothing if it is what happened', () => {
    expect(rejected().verdict().misshown).toEqual([]);
  });

  test.each([3, 1, 0])('a count of %i in place of 2 is a violation', (counted) => {
    const run = rejected();
    run.wrong.delivered.steady = counted;
    const [violation] = run.violations();
    expect(violation).toBe(`steady: ${String(counted)} counted as delivered, 2 to 2 were`);
  });

  test('what went to a user before the deletion may be counted, or not', () => {
    const run = rejected();
    run.take('track-2', 'steady');
    run.delivered('track-2', 'steady', { userId: 'user-20' });
    for (const counted of [2, 3]) {
      run.wrong.delivered.steady = counted;
      expect(run.verdict().misshown).toEqual([]);
    }
    run.wrong.delivered.steady = 4;
    expect(run.verdict().misshown).toHaveLength(1);
  });

  test.each<[string, number, string]>([
    ['group-1', 2, 'rejecting: 1 deliveries listed twice'],
    ['group-2', 1, 'rejecting: 1 deliveries listed, and unknown'],
  ])('the row of %s %i times is a violation', (message, times, violation) => {
    const run = rejected();
    run.wrong.rows.set(idOf(message, 'rejecting'), times);
    expect(run.violations()).toEqual([violation]);
  });

  test('a row that is missing is a violation, unless its user was deleted', () => {
    const run = rejected();
    const { deliveries } = run.history.totalsOf('rejecting');
    expect(mislisted(deliveries, new Map())).toEqual(['rejecting: 1 deliveries not listed']);
    deliveries.set(idOf('group-1', 'rejecting'), false);
    expect(mislisted(deliveries, new Map())).toEqual([]);
  });
});

describe('a call of a user who was deleted', () => {
  const older = (atMs: number): Breach => ({
    what: 'an older call after the delete of its user',
    delivery: idOf('track-1', 'steady'),
    url: 'steady',
    previousAt: -Infinity,
    notBefore: -Infinity,
    atMs,
  });
  const frozen = kill(T, { what: 'freeze delivery', may: ['flight_until', 'late'] });

  test.each<[string, Disturbance[], number, number]>([
    ['and no fault', [], T, 1],
    ['while its process stood still', [frozen], T + 500, 0],
    ['when its process goes on', [frozen], T + 1_500, 0],
    ['long after its process stood still', [frozen], T + 3_000, 1],
    ['after a kill', [kill(T)], T + 500, 1],
  ])('that comes after the delete, %s', (_, faults, atMs, unexplained) => {
    const run = delivered(faults);
    run.breaches.push(older(atMs));
    expect(run.verdict().breaches.unexplained).toHaveLength(unexplained);
    expect(run.violations()).toHaveLength(unexplained);
  });
});
