import { defined } from '../../../shared/collections/defined';
import { type Destination, type Source } from '../../../shared/model/config';
import { type Message } from '../../../shared/model/message';
import {
  type FilterMatcher,
  isBlocked,
  outcomeInThePast,
  route,
  routeOutcomeOf,
  wantsWebhooks,
} from '../../../shared/model/route';
import { aDestination } from '../../support/factories';

const AT = '2026-01-01T00:00:00.000Z';
const source: Source = {
  id: 'src_1',
  name: 'Site',
  enabled: true,
  writeKeys: [],
  createdAt: AT,
  updatedAt: AT,
};

function aMessage(given: Partial<Message> = {}): Message {
  return { type: 'track', messageId: 'm1', timestamp: AT, receivedAt: AT, ...given };
}

const never: FilterMatcher = () => {
  throw new Error('no filter is asked');
};

describe('route', () => {
  test.each<[string, boolean, Partial<Destination>, Partial<Source>, Partial<Message>]>([
    ['that is on and connected', true, {}, {}, {}],
    ['that is off', false, { enabled: false }, {}, {}],
    ['that is paused', true, { paused: true }, {}, {}],
    ['that is not connected', false, { sources: ['s2'] }, {}, {}],
    ['connected to several sources', true, { sources: ['src_2', 'src_1'] }, {}, {}],
    ['connected to no source', false, { sources: [] }, {}, {}],
    ['whose source is off', false, {}, { enabled: false }, {}],
    ['that accepts this type', true, { types: ['page', 'track'] }, {}, {}],
    ['that accepts other types', false, { types: ['page'] }, {}, {}],
    ['that accepts no type', false, { types: [] }, {}, {}],
    ['that accepts all types, deletes included,', true, {}, {}, { type: 'delete', userId: 'u' }],
    [
      'that does not accept deletes',
      false,
      { types: ['track'] },
      {},
      { type: 'delete', userId: 'u' },
    ],
    ['that the caller excluded', false, {}, {}, { integrations: { Webhooks: false } }],
  ])(
    'a destination %s gets the message: %s',
    (_, ...[expected, destination, sourceChange, message]) => {
      const one = aDestination(destination);
      const routed = route(aMessage(message), { ...source, ...sourceChange }, [one], never);
      expect(routed).toEqual({
        destinations: expected ? [one] : [],
        blocked: false,
        filtered: 0,
        failed: [],
      });
    },
  );

  test('keeps the order and decides each destination separately', () => {
    const all = [
      aDestination({ id: 'a' }),
      aDestination({ id: 'b', enabled: false }),
      aDestination({ id: 'c', types: ['track'] }),
    ];
    expect(route(aMessage(), source, all, never).destinations.map((d) => d.id)).toEqual(['a', 'c']);
  });

  test('passes messages that match a filter, counts others, and returns failure reasons', () => {
    const [yes, no, broken, none] = ['yes', 'no', 'broken', ''].map((filter) =>
      aDestination({
        id: filter,
        ...defined({ filter: filter || undefined }),
      }),
    ) as [Destination, Destination, Destination, Destination];
    const ask: FilterMatcher = ({ filter }) =>
      filter === 'broken' ? 'there is no "total"' : filter === 'yes';
    expect(route(aMessage(), source, [yes, no, broken, none], ask)).toEqual({
      destinations: [yes, none],
      blocked: false,
      filtered: 2,
      failed: [{ destination: broken, reason: 'there is no "total"' }],
    });
  });

  test('passes a deletion through every filter', () => {
    const one = aDestination({ filter: 'type == "track"' });
    expect(
      route(aMessage({ type: 'delete', userId: 'u' }), source, [one], never).destinations,
    ).toEqual([one]);
  });

  test('drops an event that the source blocks', () => {
    const blocking = { ...source, blockedEvents: ['Noise'] };
    const all = [aDestination({ filter: 'true' }), aDestination({ id: 'b' })];
    expect(route(aMessage({ event: 'Noise' }), blocking, all, never)).toMatchObject({
      destinations: [],
      blocked: true,
    });
    expect(route(aMessage({ event: 'Order' }), blocking, all, () => true).destinations).toEqual(
      all,
    );
  });
});

test.each<[boolean, Partial<Message>, string[] | undefined]>([
  [true, { type: 'track', event: 'Noise' }, ['Other', 'Noise']],
  [false, { type: 'track', event: 'noise' }, ['Noise']],
  [false, { type: 'track', event: 'Noise' }, []],
  [false, { type: 'track', event: 'Noise' }, undefined],
  [false, { type: 'track' }, ['Noise']],
  // A page may have any name, and is not a track event.
  [false, { type: 'page', event: 'Noise', name: 'Noise' }, ['Noise']],
])('isBlocked is %s for %j with the blocked events %j', (expected, message, blockedEvents) => {
  expect(
    isBlocked(aMessage(message), {
      ...source,
      ...defined({ blockedEvents }),
    }),
  ).toBe(expected);
});

describe('routeOutcomeOf', () => {
  test.each<[string, Partial<Destination>, Partial<Source>, Partial<Message>]>([
    ['routed', {}, {}, {}],
    ['routed', { filter: 'yes' }, {}, {}],
    ['source_off', {}, { enabled: false }, {}],
    ['blocked', { enabled: false }, { blockedEvents: ['Noise'] }, { event: 'Noise' }],
    ['excluded', {}, {}, { integrations: { All: false } }],
    ['off', { enabled: false, filter: 'no' }, {}, {}],
    ['not_connected', { sources: [] }, {}, {}],
    ['type', { types: ['page'], filter: 'no' }, {}, {}],
    ['filtered', { filter: 'no' }, {}, {}],
    ['filter_failed', { filter: 'broken' }, {}, {}],
  ])(
    'is %s for the destination %j, source %j and message %j',
    (outcome, destination, sourceChange, message) => {
      const ask: FilterMatcher = ({ filter }) => (filter === 'broken' ? 'why' : filter === 'yes');
      expect(
        routeOutcomeOf(
          aMessage(message),
          { ...source, ...sourceChange },
          aDestination(destination),
          ask,
        ),
      ).toEqual({
        outcome,
        ...defined({ reason: outcome === 'filter_failed' ? 'why' : undefined }),
      });
    },
  );
});

test.each([
  ['routed', {}, '2026-01-01T00:00:00.000Z'],
  ['created_later', {}, '2026-01-01T00:00:00.001Z'],
  ['off', { enabled: false }, '2026-01-01T00:00:00.001Z'],
])('outcomeInThePast is %s for the destination %j of %s', (outcome, destination, createdAt) => {
  expect(
    outcomeInThePast(
      aMessage({ receivedAt: '2026-01-01T00:00:00.000Z' }),
      source,
      aDestination({ ...destination, createdAt }),
      never,
    ),
  ).toEqual({ outcome });
});

describe('wantsWebhooks', () => {
  /** top-level integrations, context.integrations, delivered */
  test.each<[unknown, unknown, boolean]>([
    // no choice
    [undefined, undefined, true],
    [{}, undefined, true],
    [{}, {}, true],
    [{ 'Segment.io': true }, undefined, true],
    [{ 'Segment.io': false }, undefined, true],
    [{ Mixpanel: false }, undefined, true],
    // by name
    [{ Webhooks: false }, undefined, false],
    [{ Webhooks: true }, undefined, true],
    [{ Webhooks: {} }, undefined, true],
    [{ Webhooks: { option: 1 } }, undefined, true],
    [{ webhooks: false }, undefined, true],
    [{ WEBHOOKS: false }, undefined, true],
    [{ webhooks: true, All: false }, undefined, false],
    // by All
    [{ All: false }, undefined, false],
    [{ All: true }, undefined, true],
    [{ All: {} }, undefined, true],
    [{ all: false }, undefined, false],
    [{ all: true }, undefined, true],
    [{ ALL: false }, undefined, true],
    [{ All: true, all: false }, undefined, true],
    [{ All: false, all: true }, undefined, false],
    // the name beats All
    [{ All: false, Webhooks: true }, undefined, true],
    [{ all: false, Webhooks: true }, undefined, true],
    [{ All: false, Webhooks: { a: 1 } }, undefined, true],
    [{ All: true, Webhooks: false }, undefined, false],
    // only in context
    [undefined, { Webhooks: false }, false],
    [undefined, { All: false }, false],
    [undefined, { all: false }, false],
    [undefined, { All: false, Webhooks: true }, true],
    [{}, { All: false }, false],
    [{ 'Segment.io': true }, { All: false }, false],
    // merged per key, the top level wins
    [{ Webhooks: true }, { Webhooks: false }, true],
    [{ Webhooks: false }, { Webhooks: true }, false],
    [{ All: true }, { All: false }, true],
    [{ All: false }, { All: true }, false],
    [{ all: true }, { All: false }, true],
    [{ all: false }, { All: true }, false],
    [{ All: true }, { Webhooks: false }, false],
    [{ All: false }, { Webhooks: true }, true],
    [{ Webhooks: true }, { All: false }, true],
    [{ Webhooks: false }, { All: true }, false],
    // invalid choices count as absent
    [{ Webhooks: null }, undefined, true],
    [{ Webhooks: null, All: false }, undefined, false],
    [{ Webhooks: null }, { Webhooks: false }, false],
    [{ Webhooks: 'false' }, undefined, true],
    [{ Webhooks: 'true', All: false }, undefined, false],
    [{ Webhooks: 0 }, undefined, true],
    [{ Webhooks: 1, All: false }, undefined, false],
    [{ Webhooks: [] }, { Webhooks: false }, false],
    [{ All: null, all: false }, undefined, false],
    [{ All: 'false' }, undefined, true],
    [{ All: 0 }, undefined, true],
    [null, undefined, true],
    ['none', undefined, true],
    [false, undefined, true],
    [0, { All: false }, false],
    [['Webhooks'], undefined, true],
    [undefined, [], true],
    [undefined, 'All', true],
    [undefined, null, true],
    [JSON.parse('{"__proto__":{"Webhooks":false}}'), undefined, true],
  ])('with integrations %j and context.integrations %j is %s', (top, inner, expected) => {
    const message = defined({
      integrations: top,
      context: inner === undefined ? undefined : { integrations: inner },
    }) as unknown as Pick<Message, 'integrations' | 'context'>;
    expect(wantsWebhooks(message)).toBe(expected);
  });

  test('a missing or invalid context excludes nothing', () => {
    expect(wantsWebhooks({ context: {} })).toBe(true);
    expect(wantsWebhooks({ context: 'x' } as never)).toBe(true);
    expect(wantsWebhooks({ context: null } as never)).toBe(true);
  });
});
