import fc from 'fast-check';
import {
  type Context,
  decide,
  type Decision,
  isNews,
} from '../../../../services/control/alerts/decide';
import { type Evidence } from '../../../../services/control/health/attempt-evidence';
import {
  addEvidence,
  type Health,
  unknownHealth,
} from '../../../../services/control/health/destination-health';
import { type Notice } from '../../../../services/control/alerts/notice';
import { ALERTS_ID, type Destination } from '../../../../shared/model/config';
import { aDestination } from '../../../support/factories';

const settings = { failingForMs: 100, deadLettersEveryMs: 1_000 };
const ok = (at: number): Evidence => ({ kind: 'ok', destination: 'dst_1', at });
const failed = (at: number): Evidence => ({
  kind: 'failed',
  destination: 'dst_1',
  at,
  until: at,
  error: 'status 503',
});
const blocked = (at: number, until = at): Evidence => ({
  kind: 'blocked',
  destination: 'dst_1',
  at,
  until,
  error: 'token: it answered 500',
  code: 'token',
});
const dead = (at: number): Evidence => ({ kind: 'dead', destination: 'dst_1', at });

/** Adds evidence piece by piece, and decides after each piece. */
function play(pieces: readonly (Evidence[] | number)[], over: Partial<Context> = {}) {
  let health = unknownHealth();
  let nowMs = 0;
  const notices: Notice[] = [];
  const ended: Decision['ended'] = [];
  const due: string[] = [];
  const switches: number[] = [];
  for (const piece of pieces) {
    if (typeof piece === 'number') nowMs = piece;
    else health = addEvidence(health, piece);
    const decision = decide(health, {
      id: 'dst_1',
      destination: aDestination(),
      settings,
      nowMs,
      ...over,
    });
    health = decision.health;
    notices.push(...decision.notices);
    ended.push(...decision.ended);
    due.push(...decision.due);
    if (decision.switchOff) switches.push(nowMs);
  }
  return { health, notices, ended, due, switches };
}
const kinds = (notices: Notice[]) => notices.map(({ kind }) => kind);

test.each<[string, (Evidence[] | number)[], string[]]>([
  ['none after one failure', [[failed(10)], 5_000], []],
  ['none if it has failed for too short a time', [[failed(10), failed(109)]], []],
  ['failing after the set time', [[failed(10)], [failed(110)]], ['failing']],
  [
    'failing only once',
    [[failed(10), failed(110)], [failed(120)], 500, [failed(900)]],
    ['failing'],
  ],
  ['none after a success in between', [[failed(10), ok(50), failed(110)]], []],
  ['recovered after a success', [[failed(10), failed(110)], [ok(120)]], ['failing', 'recovered']],
  [
    'recovered only once',
    [[failed(10), failed(110)], [ok(120)], [ok(130)], 500],
    ['failing', 'recovered'],
  ],
  [
    'failing although an earlier success is read',
    [[failed(10), failed(110)], [ok(5)]],
    ['failing'],
  ],
  [
    'recovered by a late success, and failing again in the next outage',
    [
      [failed(10), failed(110)],
      [failed(300), failed(400), ok(200)],
    ],
    ['failing', 'recovered', 'failing'],
  ],
  ['none after one delivery that could not be sent', [[blocked(10)], 5_000], []],
  [
    'failing if nothing could be sent for the set time',
    [[blocked(10)], [blocked(110)]],
    ['failing'],
  ],
  [
    'failing while the window of one delivery that could not be sent is open',
    [[blocked(10, 300)], 110],
    ['failing'],
  ],
  [
    'failing after failures and waits together',
    [
      [failed(10), failed(20)],
      [blocked(60), blocked(110)],
    ],
    ['failing'],
  ],
  ['none if a success came between two waits', [[blocked(10), ok(50), blocked(110)]], []],
  [
    'recovered if something is sent again',
    [[blocked(10), blocked(110)], [ok(120)]],
    ['failing', 'recovered'],
  ],
  ['none for a recovery without a failing notice', [[failed(10)], [ok(20)]], []],
  ['dead letters', [[dead(10), dead(10)]], ['dead_letters']],
  [
    'one for further dead letters within the interval',
    [[dead(10)], [dead(20)], 900],
    ['dead_letters'],
  ],
  [
    'another for dead letters after the interval',
    [[dead(10)], [dead(20), dead(30)], 1_000],
    ['dead_letters', 'dead_letters'],
  ],
])('a destination raises these notices: %s', (_, pieces, expected) => {
  expect(kinds(play(pieces).notices)).toEqual(expected);
});

test('a notice contains the start, the failures, the error and the number of dead letters', () => {
  const { notices, ended } = play([
    [failed(10), failed(60), failed(110)],
    150,
    [ok(120)],
    [dead(130)],
    [dead(140), dead(141)],
    1_200,
  ]);
  expect(notices).toMatchObject([
    {
      kind: 'failing',
      since: 10,
      failures: 3,
      error: 'status 503',
      endedAt: null,
      alert: 'due',
      name: 'Hooks',
    },
    { kind: 'recovered', since: 10, endedAt: 120, error: null },
    { kind: 'dead_letters', since: 130, deadLetters: 1, at: 150 },
    { kind: 'dead_letters', since: 140, deadLetters: 2, at: 1_200 },
  ]);
  expect(ended).toEqual([{ id: notices[0]!.id, at: 120 }]);
  expect(new Set(notices.map(({ id }) => id)).size).toBe(4);
});

test('the console shows a failing endpoint after five minutes, and the alert of the same notice follows', () => {
  const minutes = (n: number) => n * 60_000;
  const over = { settings: { ...settings, failingForMs: minutes(30) } };
  const failing = (...at: number[]) => at.map((each) => failed(minutes(each)));
  const early = play([failing(0, 4), minutes(4)], over);
  expect([early.notices, early.due]).toEqual([[], []]);
  const shown = play([failing(0, 5), minutes(6), failing(29)], over);
  expect(shown.notices).toMatchObject([{ kind: 'failing', alert: 'later', since: 0 }]);
  expect(shown.due).toEqual([]);
  const told = play([failing(0, 5), failing(30), minutes(31), failing(40)], over);
  expect(told.notices).toHaveLength(1);
  expect(told.due).toEqual([told.notices[0]!.id]);
});

test('a recovery before the alert of the failure sends no alert either', () => {
  const over = { settings: { ...settings, failingForMs: 1_800_000 } };
  const { notices, ended } = play([[failed(0), failed(300_000)], [ok(300_001)]], over);
  expect(notices.map(({ kind, alert }) => [kind, alert])).toEqual([
    ['failing', 'later'],
    ['recovered', 'none'],
  ]);
  expect(ended).toHaveLength(1);
});

test('a notice names the origin of the URL that failed last', () => {
  const webhooks = ['a', 'b'].map((name) => ({
    id: `whk_${name}`,
    origin: `https://${name}.example`,
  })) as Destination['webhooks'];
  const destination = aDestination({ webhooks });
  const evidence = [failed(10), { ...failed(110), url: 'whk_b' } as Evidence];
  const { notices } = play([evidence], { destination });
  expect(notices).toMatchObject([{ origin: 'https://b.example' }]);
  expect(play([[dead(10)]], { destination }).notices).toMatchObject([
    { origin: 'https://a.example' },
  ]);
});

test('the notice of a destination that can get nothing has the cause, no failed attempt', () => {
  const { notices } = play([[blocked(10)], [blocked(110)], 150, [blocked(160)]]);
  expect(notices).toMatchObject([
    { kind: 'failing', since: 10, failures: 0, error: 'token: it answered 500' },
  ]);
});

test('a destination that could get nothing is not reported if nothing waits any more', () => {
  const { health, notices } = play([[blocked(10, 300)], 110], { waiting: 0 });
  expect([notices, health.blocked]).toEqual([[], undefined]);
  expect(kinds(play([[blocked(10, 300)], 110], { waiting: 1 }).notices)).toEqual(['failing']);
});

test('no destination is switched off because nothing can be sent to it', () => {
  const over = { settings: { ...settings, switchOffAfterMs: 200 } };
  expect(
    play([[failed(10), failed(20)], [blocked(30), blocked(400, 900)], 500], over).switches,
  ).toEqual([]);
});

test('earlier waits do not count after a destination is switched on again', () => {
  const { health } = play([[blocked(10), blocked(20)]], {
    destination: aDestination({ enabled: false }),
  });
  const context = { id: 'dst_1', destination: aDestination(), settings, nowMs: 200 };
  expect(decide(addEvidence(health, [blocked(200)]), context).notices).toEqual([]);
});

test('an announced attempt keeps a destination failing as time passes', () => {
  const waiting: Evidence = { kind: 'failed', destination: 'dst_1', at: 11, until: 400, error: '' };
  expect(kinds(play([[failed(10), waiting], 109]).notices)).toEqual([]);
  expect(kinds(play([[failed(10), waiting], 110]).notices)).toEqual(['failing']);
});

test('one failure is an outage while its next attempt is to come, but switches nothing off', () => {
  const waiting: Evidence = { kind: 'failed', destination: 'dst_1', at: 10, until: 300, error: '' };
  const over = { settings: { ...settings, switchOffAfterMs: 200 } };
  const [failing, off] = [play([[waiting], 110], over), play([[waiting], 210], over)];
  expect([kinds(failing.notices), failing.switches]).toEqual([['failing'], []]);
  expect([kinds(off.notices), off.switches]).toEqual([['failing'], []]);
  const twice = play([[failed(9), waiting], 210], over);
  expect([kinds(twice.notices), twice.switches]).toEqual([['failing'], [210]]);
  const { notices, switches } = play([[waiting], 300], over);
  expect([kinds(notices), switches]).toEqual([[], []]);
});

test.each<[string, Partial<Context>, boolean]>([
  ['not at all', {}, false],
  ['for all destinations', { settings: { ...settings, switchOffAfterMs: 200 } }, true],
  [
    'for all destinations, to a longer time',
    { settings: { ...settings, switchOffAfterMs: 201 } },
    false,
  ],
  ['for this destination', { destination: aDestination({ switchOffAfterMs: 200 }) }, true],
  [
    'for all destinations except this one',
    {
      settings: { ...settings, switchOffAfterMs: 200 },
      destination: aDestination({ switchOffAfterMs: 0 }),
    },
    false,
  ],
  [
    'to a longer time for this destination',
    {
      settings: { ...settings, switchOffAfterMs: 1 },
      destination: aDestination({ switchOffAfterMs: 300 }),
    },
    false,
  ],
  [
    'for all destinations, if it is the alerts themselves',
    { id: ALERTS_ID, settings: { ...settings, switchOffAfterMs: 200 } },
    false,
  ],
])(
  'a destination that has failed for 200 follows the switch-off time set: %s',
  (_, over, expected) => {
    expect(play([[failed(10), failed(110)], [failed(210)]], over).switches.length > 0).toBe(
      expected,
    );
  },
);

describe('switching off', () => {
  const context: Context = {
    id: 'dst_1',
    destination: aDestination({ switchOffAfterMs: 200 }),
    settings,
    nowMs: 300,
  };
  const off = { ...context, destination: aDestination({ enabled: false, switchOffAfterMs: 200 }) };
  const before = play([[failed(10), failed(210)]], context).health;

  test('a switch-off is stored before it is done, and a notice follows after a crash', () => {
    expect(before.switchingOff).toEqual({ since: 10, failures: 2 });
    expect(decide(before, context).switchOff).toBe(true);
    const { notices, ended, health } = decide(before, off);
    expect(notices).toMatchObject([
      { kind: 'switched_off', since: 10, failures: 2, error: 'status 503', endedAt: 300 },
    ]);
    expect(ended).toHaveLength(1);
    // Raised once; failures count from the beginning after it is switched on again.
    expect(decide(health, off).notices).toEqual([]);
    expect(decide(addEvidence(health, [failed(400)]), { ...context, nowMs: 400 }).switchOff).toBe(
      false,
    );
  });

  test('a destination that recovers in time is not switched off', () => {
    const { switchOff, health } = decide(addEvidence(before, [ok(250)]), context);
    expect(switchOff).toBe(false);
    expect(health.switchingOff).toBeNull();
  });

  test('a switch-off by a person raises no notice', () => {
    const failing = { ...before, switchingOff: null };
    const { notices, ended, health } = decide(failing, off);
    expect([notices, ended.length, health.failing, health.failures]).toEqual([[], 1, null, []]);
  });

  test('a deletion ends every notice', () => {
    const { notices, ended, health } = decide(addEvidence(before, [dead(300)]), {
      ...context,
      destination: undefined,
    });
    expect([notices, ended.length, health.dead]).toEqual([[], 1, null]);
  });
});

test('trouble of the alert webhook raises a notice and no alert', () => {
  const { notices } = play([[failed(10), failed(110)], [dead(120)], [ok(130)]], { id: ALERTS_ID });
  expect(notices.map(({ kind, alert }) => [kind, alert])).toEqual([
    ['failing', 'none'],
    ['dead_letters', 'none'],
    ['recovered', 'none'],
  ]);
});

test('with any evidence a notice opens and ends once, and a repeated decision adds nothing', () => {
  const piece = fc.oneof(
    fc.array(
      fc
        .record({
          kind: fc.constantFrom(ok, failed, blocked, dead),
          at: fc.integer({ min: 0, max: 2_000 }),
        })
        .map(({ kind, at }) => kind(at)),
      { maxLength: 5 },
    ),
    fc.integer({ min: 0, max: 5_000 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const { notices, ended, health } = play(pieces);
      const story = kinds(notices).filter((kind) => kind === 'failing' || kind === 'recovered');
      story.forEach((kind, i) => expect(kind).toBe(i % 2 === 0 ? 'failing' : 'recovered'));
      expect(ended).toHaveLength(story.filter((kind) => kind === 'recovered').length);
      expect(health.failing !== null).toBe(story.length % 2 === 1);
      expect(new Set(notices.map(({ id }) => id)).size).toBe(notices.length);
      const nowMs = Math.max(0, ...pieces.filter((each) => typeof each === 'number').slice(-1));
      const again = decide(health, { id: 'dst_1', destination: aDestination(), settings, nowMs });
      expect(isNews(health, again)).toBe(false);
    }),
  );
});

test('every dead letter is counted in an alert', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 50 }), (times) => {
      const told = play([...times.flatMap((at, i) => [[dead(at)], i * 300]), 1e6]).notices;
      expect(told.reduce((sum, { deadLetters }) => sum + deadLetters, 0)).toBe(times.length);
    }),
  );
});

test('the health survives serialization', () => {
  const { health } = play([[failed(10), failed(110), dead(5)]]);
  expect(JSON.parse(JSON.stringify(health)) as Health).toEqual(health);
});
