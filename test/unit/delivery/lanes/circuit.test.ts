import fc from 'fast-check';
import { Circuit, type CircuitOptions } from '../../../../services/delivery/lanes/circuit';
import { type Signal } from '../../../../services/delivery/lanes/job';

const OPTIONS: CircuitOptions = {
  failuresToOpen: 5,
  silentToOpen: 3,
  probePauseMs: 1_000,
  longestPauseMs: 10_000,
  longestHoldMs: 60_000,
  recoveredAt: 4,
};
const OK: Signal = { kind: 'ok' };
const FAILED: Signal = { kind: 'failed' };
const TIMEOUT: Signal = { kind: 'timeout' };

/** Returns a circuit that opened at the given time. */
function opened(at = 0): Circuit {
  const circuit = new Circuit(OPTIONS);
  for (let i = 0; i < 5; i++) circuit.observe(circuit.began(), FAILED, at);
  return circuit;
}

describe('a request that a user sends now', () => {
  const held = (at: number) => {
    const circuit = new Circuit(OPTIONS);
    circuit.observe(circuit.began(), { kind: 'throttled', retryAfterMs: 30_000 }, at);
    return circuit;
  };
  const behindProxy = (circuit: Circuit) => {
    circuit.gate = { refusal: () => ({ reason: 'proxy', waitMs: 0 }) };
    return circuit;
  };

  test.each<[string, Circuit, boolean]>([
    ['may begin although the circuit is open', opened(), true],
    ['may begin although Retry-After is not over', held(0), true],
    ['needs no exception at a closed circuit', new Circuit(OPTIONS), false],
    ['waits for an egress proxy that is away', behindProxy(new Circuit(OPTIONS)), false],
    [
      'waits for an egress proxy that is away before an endpoint that is away',
      behindProxy(opened()),
      false,
    ],
  ])('a request that a user sends now %s', (_, circuit, expected) => {
    expect(circuit.insist('always', 10)).toBe(expected);
  });

  test('of many requests that a user sends now, one may begin in each pause', () => {
    const circuit = opened();
    const begun = [0, 10, 500, 999, 1_000, 1_500, 2_100].filter((now) =>
      circuit.insist('sometimes', now),
    );
    expect(begun).toEqual([0, 1_000, 2_100]);
  });
});

describe('a circuit', () => {
  test.each<[string, Signal[], string]>([
    ['four failures do not open it', Array<Signal>(4).fill(FAILED), 'closed'],
    ['five failures in a row open it', Array<Signal>(5).fill(FAILED), 'open'],
    ['five timeouts open it', Array<Signal>(5).fill({ kind: 'timeout' }), 'open'],
    ['five 429 without Retry-After open it', Array<Signal>(5).fill({ kind: 'throttled' }), 'open'],
    [
      'a 429 with Retry-After holds it instead',
      Array<Signal>(5).fill({ kind: 'throttled', retryAfterMs: 1 }),
      'recovering',
    ],
    [
      'a single success between failures keeps it closed',
      [FAILED, FAILED, FAILED, FAILED, OK, FAILED, FAILED],
      'closed',
    ],
    [
      'a request that was never sent does not count',
      [...Array<Signal>(4).fill(FAILED), { kind: 'withdrawn' }],
      'closed',
    ],
  ])('%s', (_, signals, state) => {
    const circuit = new Circuit(OPTIONS);
    for (const signal of signals) circuit.observe(circuit.began(), signal, 0);
    expect(circuit.state).toBe(state);
  });

  test.each<[string, [startedAt: number, endedAt: number, signal: Signal][], string]>([
    [
      'two timeouts do not open it',
      [
        [0, 5_000, TIMEOUT],
        [10, 5_010, TIMEOUT],
      ],
      'closed',
    ],
    [
      'three timeouts open it',
      [
        [0, 5_000, TIMEOUT],
        [10, 5_010, TIMEOUT],
        [20, 5_020, TIMEOUT],
      ],
      'open',
    ],
    [
      'three timeouts do not open it if a response came after they began',
      [
        [100, 4_000, OK],
        [0, 5_000, TIMEOUT],
        [10, 5_010, TIMEOUT],
        [20, 5_020, TIMEOUT],
        [30, 5_030, TIMEOUT],
      ],
      'closed',
    ],
    [
      'three timeouts do not open it if an error came after they began',
      [
        [100, 4_000, FAILED],
        [0, 5_000, TIMEOUT],
        [10, 5_010, TIMEOUT],
        [20, 5_020, TIMEOUT],
      ],
      'closed',
    ],
    [
      'three timeouts that began after the last response open it',
      [
        [0, 5_000, TIMEOUT],
        [0, 5_000, OK],
        [5_001, 10_001, TIMEOUT],
        [5_002, 10_002, TIMEOUT],
        [5_003, 10_003, TIMEOUT],
      ],
      'open',
    ],
  ])('in silence, %s', (_, ends, state) => {
    const circuit = new Circuit(OPTIONS);
    for (const [startedAt, endedAt, signal] of ends) {
      circuit.observe(circuit.began(), signal, endedAt, startedAt);
    }
    expect(circuit.state).toBe(state);
  });

  test('an open circuit lets one probe through at a time, with pauses that grow to a limit', () => {
    const circuit = opened(0);
    const pauses: number[] = [];
    let now = 0;
    for (let i = 0; i < 20; i++) {
      const from = now;
      while (!circuit.mayProbe(now)) now += 50;
      pauses.push(now - from);
      const probe = circuit.began();
      expect(circuit.mayProbe(now + 100_000)).toBe(false);
      now += 5_000;
      circuit.observe(probe, { kind: 'timeout' }, now);
    }
    expect(pauses[0]).toBe(1_000);
    expect(pauses.slice(1).every((pause, i) => pause >= pauses[i]!)).toBe(true);
    expect(pauses.at(-1)).toBe(10_000);
    expect(circuit.refusal(now)).toEqual({ reason: 'circuit_open', waitMs: now });
  });

  test('after a good probe the limit grows by one per success until the circuit closes', () => {
    const circuit = opened();
    expect(circuit.observe(circuit.began(), OK, 2_000)).toBe('responded');
    const widths = [circuit.limit];
    for (let i = 0; i < 3; i++) {
      circuit.observe(circuit.began(), OK, 2_000);
      widths.push(circuit.limit);
    }
    expect(widths).toEqual([1, 2, 3, Infinity]);
    expect(circuit.state).toBe('closed');
  });

  test('results of requests sent before it opened change nothing, good or bad', () => {
    const circuit = new Circuit(OPTIONS);
    const before = Array.from({ length: 7 }, () => circuit.began());
    for (const period of before.slice(0, 5)) circuit.observe(period, FAILED, 0);
    expect(circuit.observe(before[5]!, OK, 100)).toBeUndefined();
    expect(circuit.state).toBe('open');
    circuit.observe(circuit.began(), OK, 2_000);
    for (let i = 0; i < 9; i++) circuit.observe(before[6]!, FAILED, 2_001);
    expect(circuit.state).toBe('recovering');
  });

  test('an endpoint that fails again during its recovery is in the same outage', () => {
    const circuit = opened(0);
    circuit.observe(circuit.began(), OK, 50_000);
    for (let i = 0; i < 5; i++) circuit.observe(circuit.began(), FAILED, 60_000);
    expect(circuit.refusal(61_000)).toEqual({ reason: 'circuit_open', waitMs: 61_000 });
  });

  test('Retry-After holds all back up to a maximum, and one request starts recovery', () => {
    const circuit = new Circuit(OPTIONS);
    circuit.observe(circuit.began(), { kind: 'throttled', retryAfterMs: 5_000 }, 0);
    expect(circuit.refusal(1_000)).toEqual({ reason: 'retry_after', waitMs: 4_000 });
    expect(circuit.refusal(5_000)).toBeUndefined();
    expect(circuit.limit).toBe(1);
    circuit.observe(circuit.began(), { kind: 'throttled', retryAfterMs: 86_400_000 }, 5_000);
    expect(circuit.refusal(5_000)).toEqual({ reason: 'retry_after', waitMs: 60_000 });
  });

  test('a probe that was not sent makes room for another immediately', () => {
    const circuit = opened(0);
    circuit.observe(circuit.began(), { kind: 'withdrawn' }, 1_000);
    expect(circuit.mayProbe(1_000)).toBe(true);
  });

  test('with any results at most one probe is open, and an open circuit gets one in time', () => {
    const signal = fc.oneof(
      fc.constantFrom<Signal>(
        OK,
        FAILED,
        { kind: 'timeout' },
        { kind: 'withdrawn' },
        { kind: 'throttled' },
      ),
      fc.record({
        kind: fc.constant('throttled' as const),
        retryAfterMs: fc.integer({ min: 0, max: 1e9 }),
      }),
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(signal, fc.integer({ min: 0, max: 3_000 }))), (steps) => {
        const circuit = new Circuit(OPTIONS);
        let now = 0;
        for (const [answer, passed] of steps) {
          now += passed;
          if (circuit.refusal(now) && !circuit.mayProbe(now)) continue;
          const period = circuit.began();
          if (circuit.state === 'open') expect(circuit.mayProbe(now + 1e9)).toBe(false);
          circuit.observe(period, answer, now);
          expect(circuit.limit).toBeGreaterThanOrEqual(1);
        }
        if (circuit.state === 'open') expect(circuit.mayProbe(now + 60_001)).toBe(true);
        else expect(circuit.refusal(now + 60_001)).toBeUndefined();
      }),
    );
  });
});
