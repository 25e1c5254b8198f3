import { applyEvent, type DeliveryRow } from '../../../../services/control/history/delivery-row';
import { type DeliveryEvent, REPLAYED } from '../../../../shared/model/attempt-events';
import { aCancellation, aDeath, aFailure, anAttempt, at, aUrl, aWait } from '../../../support/events';

const after = (...events: DeliveryEvent[]) =>
  events.reduce<DeliveryRow | undefined>((row, event) => applyEvent(row, event), undefined)!;

describe('what a delivery has come to', () => {
  it.each<[string, DeliveryEvent[], Partial<DeliveryRow>]>([
    ['delivered', [anAttempt()], { status: 'delivered', reason: null, made: 1, nextAt: null }],
    ['failed once', [aFailure()], { status: 'retrying', reason: 'backoff', made: 1, settledAt: null }],
    ['never tried', [aWait()], { status: 'waiting', reason: 'circuit_open', made: 0 }],
    ['tried, then held back', [aFailure(), aWait({ n: 1, hop: 1 })], { status: 'retrying', reason: 'circuit_open' }],
    [
      'refused',
      [anAttempt({ outcome: 'rejected', reason: 'rejected' }), aDeath()],
      { status: 'dead', reason: 'rejected' },
    ],
    [
      'too late',
      [aFailure(), aDeath({ hop: 1, reason: 'window_closed' })],
      { status: 'dead', reason: 'window_closed' },
    ],
    ['switched off', [aCancellation()], { status: 'cancelled', reason: 'destination_disabled' }],
    [
      'a test that failed',
      [anAttempt({ outcome: 'retry', test: true })],
      { status: 'dead', reason: 'rejected', test: true },
    ],
    [
      'failed, then delivered',
      [aFailure(), anAttempt({ n: 2, hop: 1 })],
      { status: 'delivered', made: 2, nextAt: null },
    ],
  ])('%s', (_, events, expected) => {
    expect(after(...events)).toMatchObject(expected);
  });

  it('says when it is tried next, and when it ended', () => {
    expect(after(aFailure()).nextAt).toBe(Date.parse(at(11)));
    expect(after(anAttempt({ at: at(3) })).settledAt).toBe(Date.parse(at(3)));
  });

  it('names the record that held it last', () => {
    const record = { topic: 'webhooks.due', partition: 3, offset: 12 };
    expect(after(aFailure(), anAttempt({ n: 2, hop: 1, record })).record).toBe('webhooks.due/3/12');
  });
});

describe('delivered is final', () => {
  it.each<[string, DeliveryEvent]>([
    ['a copy that failed', aFailure({ n: 2, hop: 1 })],
    ['a copy that died', aDeath({ hop: 5 })],
    ['a copy that waits', aWait({ hop: 2 })],
    ['a replay that failed', aFailure({ replay: 1 })],
    ['a replay that died', aDeath({ replay: 1 })],
  ])('whatever comes after it: %s', (_, event) => {
    expect(after(anAttempt(), event).status).toBe('delivered');
  });
});

describe('events that come again, or late', () => {
  const story = [aFailure(), aWait({ n: 1, hop: 1 }), aFailure({ n: 2, hop: 2, at: at(70) }), aDeath({ n: 2, hop: 3 })];

  it('change nothing the second time', () => {
    const once = after(...story);
    expect(after(...story, ...story)).toEqual(once);
    for (const event of story) expect(applyEvent(once, event)).toEqual(once);
  });

  it('of an earlier step change no status, but their attempt counts', () => {
    const row = after(aWait({ n: 1, hop: 2, reason: 'paused' }), aFailure({ hop: 1, at: at(5) }));
    expect(row).toMatchObject({ status: 'retrying', reason: 'paused', hop: 2 });
    expect(row.tries).toHaveLength(1);
  });

  it('of the same attempt at another time are another attempt: a crash repeated it', () => {
    expect(after(aFailure({ at: at(1) }), aFailure({ at: at(7) })).tries.map((each) => each.at)).toEqual([
      at(1),
      at(7),
    ]);
  });
});

describe('a replay', () => {
  const died = after(aFailure(), aDeath({ hop: 1 }));

  it('begins anew, with the attempts of before', () => {
    const replayed = applyEvent(died, aWait({ replay: 1, reason: REPLAYED }));
    expect(replayed).toMatchObject({
      status: 'waiting',
      reason: REPLAYED,
      replay: 1,
      hop: 0,
      made: 0,
      settledAt: null,
    });
    const delivered = applyEvent(replayed, anAttempt({ replay: 1, at: at(100) }));
    expect(delivered).toMatchObject({ status: 'delivered', made: 1 });
    expect(delivered.tries.map(({ n, replay }) => [n, replay])).toEqual([
      [1, 0],
      [1, 1],
    ]);
  });

  it('that is announced after it was heard of stays as it was heard of', () => {
    const retrying = applyEvent(died, aFailure({ replay: 1, at: at(100) }));
    expect(applyEvent(retrying, aWait({ replay: 1, reason: REPLAYED }))).toEqual(retrying);
  });

  it('is not undone by what is left of the one before', () => {
    const replayed = applyEvent(died, aWait({ replay: 1, reason: REPLAYED }));
    expect(applyEvent(replayed, aDeath({ hop: 9, reason: 'window_closed' })).status).toBe('waiting');
  });
});

describe('requests that end after their attempt was settled', () => {
  const late = (url: string, over = {}) =>
    anAttempt({
      late: true,
      at: at(4),
      durationMs: 3_000,
      urls: [aUrl({ url, outcome: 'retry', status: 503 })],
      ...over,
    });

  it('are added to it, each once', () => {
    const row = after(anAttempt(), late('whk_2'), late('whk_3'), late('whk_2'));
    expect(row.tries).toHaveLength(1);
    expect(row.tries[0]).toMatchObject({ outcome: 'delivered', durationMs: 3_000 });
    expect(row.tries[0]!.urls.map(({ url }) => url)).toEqual(['whk_1', 'whk_2', 'whk_3']);
  });

  it('belong to the last of two attempts of the same number', () => {
    const row = after(aFailure({ at: at(1) }), anAttempt({ at: at(2) }), late('whk_2'));
    expect(row.tries.map(({ urls }) => urls.length)).toEqual([1, 2]);
  });
});

it('keeps so many attempts and so many answers of one delivery, the last ones', () => {
  const response = { headers: {}, body: 'no', truncated: false };
  let row: DeliveryRow | undefined;
  for (let i = 0; i < 250; i++) {
    row = applyEvent(row, aFailure({ n: i + 1, hop: i, at: at(i), urls: [aUrl({ outcome: 'retry', response })] }));
  }
  expect(row!.tries.map(({ n }) => n)).toEqual(Array.from({ length: 100 }, (_, i) => i + 151));
  expect(row!.tries.filter(({ urls }) => urls[0]!.response)).toHaveLength(30);
  expect(row!.tries.at(-1)!.urls[0]!.response).toEqual(response);
  expect(row!.made).toBe(250);
});
