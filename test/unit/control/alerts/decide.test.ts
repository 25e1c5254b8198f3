import fc from 'fast-check';
import { decide, type Decision, onlyAbout } from '../../../../services/control/alerts/decide';
import { type World } from '../../../../services/control/alerts/troubles';
import { type HealthEvidence } from '../../../../services/control/health/attempt-evidence';
import {
  addEvidence,
  type Health,
  unknownHealth,
} from '../../../../services/control/health/destination-health';
import { type Notice } from '../../../../services/control/alerts/notice';
import { ALERTS_ID, type Destination } from '../../../../shared/model/config';
import { at } from '../../../support/events';
import { aDestination } from '../../../support/factories';

const settings = { failingForMs: 100, deadLettersEveryMs: 1_000 };
const ok = (at: number): HealthEvidence => ({ kind: 'ok', destination: 'dst_1', at });
const failed = (at: number): HealthEvidence => ({
  kind: 'failed',
  destination: 'dst_1',
  at,
  until: at,
  error: 'status 503',
});
const blocked = (at: number, until = at): HealthEvidence => ({
  kind: 'blocked',
  destination: 'dst_1',
  at,
  until,
  error: 'token: it answered 500',
  code: 'token',
});
const dead = (at: number): HealthEvidence => ({ kind: 'dead', destination: 'dst_1', at });

interface Context extends Pick<World, 'settings' | 'nowMs'> {
  id: string;
  destination: Destination | undefined;
  waiting?: number;
}

function decideFor(
  health: Health,
  { id, destination, settings, nowMs, waiting }: Context,
  notices: readonly Notice[] = [],
) {
  const counts = new Map([[id, { waiting: waiting ?? 0, stillDead: 99, stillPartly: 99 }]]);
  const decision = decide({
    nowMs,
    settings,
    notices,
    destinations: {
      get: () => destination && { ...destination, id },
      all: () => (destination ? [{ ...destination, id }] : []),
    },
    health: new Map([[id, health]]),
    facts: [],
    fullProfiles: 0,
    counts: waiting === undefined ? undefined : counts,
    over: undefined,
  });
  return { ...decision, health: decision.health.get(id) ?? health };
}

/** Does with the notices what the store does. */
function noticesAfter(
  notices: readonly Notice[],
  { raised, ended, due }: Pick<Decision, 'raised' | 'ended' | 'due'>,
) {
  const after = [...notices, ...raised].map((notice) => ({
    ...notice,
    ...ended.find(({ id }) => id === notice.id),
  }));
  return after.map((notice): Notice => {
    const said = due.find(({ id }) => id === notice.id);
    return said ? { ...notice, ...said, alert: 'due' } : notice;
  });
}

/** Adds evidence piece by piece, and decides after each piece. */
function play(pieces: readonly (HealthEvidence[] | number)[], over: Partial<Context> = {}) {
  let health = unknownHealth();
  let nowMs = 0;
  let stored: Notice[] = [];
  const notices: Notice[] = [];
  const ended: Decision['ended'] = [];
  const due: Decision['due'] = [];
  const switches: number[] = [];
  for (const piece of pieces) {
    if (typeof piece === 'number') nowMs = piece;
    else health = addEvidence(health, piece);
    const context = { id: 'dst_1', destination: aDestination(), settings, nowMs, ...over };
    const decision = decideFor(health, context, stored);
    health = decision.health;
    stored = noticesAfter(stored, decision);
    notices.push(...decision.raised);
    ended.push(...decision.ended);
    due.push(...decision.due);
    if (decision.switchOff.length > 0) switches.push(nowMs);
  }
  return { health, stored, notices, ended, due, switches };
}
const kinds = (notices: Notice[]) => notices.map(({ kind }) => kind);

test.each<[string, (HealthEvidence[] | number)[], string[]]>([
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
  expect(ended).toMatchObject([
    { id: notices[0]!.id, endedAt: 120 },
    { id: notices[2]!.id, endedAt: 1_200, followedBy: notices[3]!.id },
  ]);
  expect(new Set(notices.map(({ id }) => id)).size).toBe(4);
});

test('the console shows a failing endpoint after five minutes, and its notice alerts later', () => {
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
  expect(told.due.map(({ id }) => id)).toEqual([told.notices[0]!.id]);
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
  const evidence = [failed(10), { ...failed(110), url: 'whk_b' } as HealthEvidence];
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
  expect(decideFor(addEvidence(health, [blocked(200)]), context).raised).toEqual([]);
});

test('an announced attempt keeps a destination failing as time passes', () => {
  const waiting: HealthEvidence = {
    kind: 'failed',
    destination: 'dst_1',
    at: 11,
    until: 400,
    error: '',
  };
  expect(kinds(play([[failed(10), waiting], 109]).notices)).toEqual([]);
  expect(kinds(play([[failed(10), waiting], 110]).notices)).toEqual(['failing']);
});

test('one failure is an outage while its next attempt is to come, but switches nothing off', () => {
  const waiting: HealthEvidence = {
    kind: 'failed',
    destination: 'dst_1',
    at: 10,
    until: 300,
    error: '',
  };
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
  const off = {
    ...context,
    destination: aDestination({ enabled: false, switchedOff: true, switchOffAfterMs: 200 }),
  };
  const byPerson = { ...off, destination: aDestination({ enabled: false, switchOffAfterMs: 200 }) };
  const { health: before, stored } = play([[failed(10), failed(210)]], context);

  test('a switch-off is stored before it is done, and a notice follows after a crash', () => {
    expect(before.switchingOff).toEqual({ since: 10, failures: 2 });
    expect(decideFor(before, context, stored).switchOff).toEqual(['dst_1']);
    const { raised, ended, health } = decideFor(before, off, stored);
    expect(raised).toMatchObject([
      { kind: 'switched_off', since: 10, failures: 2, error: 'status 503', endedAt: 300 },
    ]);
    expect(ended).toMatchObject([{ endedAt: 300 }]);
    expect(ended[0]).not.toHaveProperty('closed');
    // Raised once; failures count from the beginning after it is switched on again.
    const later = noticesAfter(stored, { raised, ended, due: [] });
    expect(decideFor(health, off, later).destinationIds).toEqual([]);
    expect(
      decideFor(addEvidence(health, [failed(400)]), { ...context, nowMs: 400 }, later).switchOff,
    ).toEqual([]);
  });

  test('a destination that recovers in time is not switched off', () => {
    const { switchOff, health } = decideFor(addEvidence(before, [ok(250)]), context, stored);
    expect(switchOff).toEqual([]);
    expect(health.switchingOff).toBeNull();
  });

  test('a switch-off by a person raises no notice', () => {
    // Also one that comes before that of Waypost, which was stored already.
    for (const switchingOff of [null, before.switchingOff]) {
      const { raised, ended, health } = decideFor({ ...before, switchingOff }, byPerson, stored);
      expect([raised, ended, health.failures, health.switchingOff]).toEqual([
        [],
        [expect.objectContaining({ id: stored[0]!.id, closed: true })],
        [],
        null,
      ]);
    }
  });

  test('a deletion ends every notice', () => {
    const gone = { ...context, destination: undefined };
    const { raised, ended, health } = decideFor(addEvidence(before, [dead(300)]), gone, stored);
    expect([raised, ended.length, health.dead]).toEqual([[], 1, null]);
  });
});

test.each([
  ['is on again', [{ id: 'whk_1' }], 'due'],
  ['is on again before its alert was sent', [{ id: 'whk_1' }], 'none'],
  ['is removed', [], 'sent'],
])('a URL that its receiver switched off, and that %s, ends', (told, left, alert) => {
  const disabled = { at: new Date(10).toISOString(), reason: 'gone' as const };
  const off = { id: 'whk_1', origin: 'https://a.example', url: '', headers: {}, disabled };
  const around = { id: 'dst_1', settings, nowMs: 20 };
  const { raised } = decideFor(unknownHealth(), {
    ...around,
    destination: aDestination({ webhooks: [off] }),
  });
  expect(raised).toMatchObject([{ kind: 'webhook_disabled', since: 10, webhook: 'whk_1' }]);
  const sent = raised.map((notice) => ({
    ...notice,
    alert: told.includes('before') ? notice.alert : ('sent' as const),
  }));
  const webhooks = left as Destination['webhooks'];
  const { ended } = decideFor(
    unknownHealth(),
    { ...around, destination: aDestination({ webhooks }) },
    sent,
  );
  expect(ended).toMatchObject([{ endedAt: 20, alert }]);
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
      const { notices, stored, health } = play(pieces);
      const story = kinds(notices).filter((kind) => kind === 'failing' || kind === 'recovered');
      story.forEach((kind, i) => expect(kind).toBe(i % 2 === 0 ? 'failing' : 'recovered'));
      const open = stored.filter(({ kind, endedAt }) => kind === 'failing' && endedAt === null);
      expect(open).toHaveLength(story.length % 2);
      expect(new Set(notices.map(({ id }) => id)).size).toBe(notices.length);
      const nowMs = Math.max(0, ...pieces.filter((each) => typeof each === 'number').slice(-1));
      const context = { id: 'dst_1', destination: aDestination(), settings, nowMs };
      expect(decideFor(health, context, stored).destinationIds).toEqual([]);
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

test('a decision about the destinations that it concerns is the same as one about all', () => {
  const webhook = { id: 'whk_1', url: 'sealed', origin: 'https://a.example', headers: {} };
  const off = { at: at(0), reason: 'gone' as const };
  const urls = [{ ...webhook, disabled: off }];
  const many = Array.from({ length: 9 }, (_, i) => {
    const webhooks = i % 3 === 0 ? urls : [webhook];
    return aDestination({ id: `dst_${String(i)}`, webhooks, enabled: i !== 6 });
  });
  const worldWith = (notices: readonly Notice[]): World => ({
    nowMs: 5_000,
    settings,
    notices,
    destinations: { get: (id) => many.find((each) => each.id === id), all: () => many },
    health: new Map([['dst_1', addEvidence(unknownHealth(), [failed(10), failed(4_000)])]]),
    facts: [],
    fullProfiles: 2,
    counts: undefined,
    over: undefined,
  });
  const { raised } = decide(worldWith([]));
  expect(raised.map(({ kind }) => kind).sort()).toEqual([
    'failing',
    'profile_full',
    'webhook_disabled',
    'webhook_disabled',
  ]);
  // Each notice may be known, be lacking, or be about what is over.
  const gone = { ...raised.at(-2)!, id: 'ntc_gone', destination: 'dst_5', webhook: 'whk_none' };
  for (let known = 0; known < 32; known++) {
    const world = worldWith([...raised, gone].filter((_, i) => (known >> i) % 2 > 0));
    const { destinationIds, ...decision } = decide(world);
    const only = onlyAbout(destinationIds, world);
    expect(only.destinations.all()).toHaveLength(destinationIds.filter((id) => id !== '').length);
    expect(decide(only)).toEqual({ destinationIds, ...decision });
  }
});
