import { compileExpression, type Expression } from '../../../shared/cel/compile';
import { type CounterCall } from '../../../shared/cel/aggregate-functions';
import { messageVariables, userVariables } from '../../../shared/cel/json-values';
import { type Message } from '../../../shared/model/message';

const message: Message = {
  type: 'track',
  messageId: 'm1',
  timestamp: '2026-03-04T05:06:07.000Z',
  receivedAt: '2026-03-04T05:06:09.500Z',
  userId: 'u1',
  event: 'Order Completed',
  properties: {
    total: 150.5,
    count: 3,
    currency: 'EUR',
    constructor: 'theirs',
    gift: null,
    'promo code': 'X',
    products: [
      { sku: 'a', price: 10 },
      { sku: 'b', price: 120 },
    ],
    tags: ['new', 'summer'],
  },
  context: { page: { url: 'https://shop.example/cart?x=1' } },
};

function compiled(text: string, name: 'filter' | 'audience' = 'filter'): Expression {
  const expression = compileExpression(text, name);
  if (expression.kind === 'mistake') throw new Error(`${text}: ${expression.message}`);
  return expression;
}

const evaluate = (text: string, of: Message = message) =>
  compiled(text).evaluate(messageVariables(of));

describe('the result of a filter', () => {
  test.each([
    ['type == "track" && event == "Order Completed" && properties.total > 100', true],
    ['properties.total > 150', true],
    ['properties.total > 150.5', false],
    ['properties.count == 3', true],
    ['properties.count == 3.0', true],
    ['properties.count in [1, 2, 3]', true],
    ['properties.total * 2.0 > 300.0', true],
    ['int(properties.count) % 2 == 1', true],
    ['event in ["Order Completed", "Order Refunded"]', true],
    ['event.startsWith("Order ")', true],
    ['event.lowerAscii() == "order completed"', true],
    ['context.page.url.matches("^https://shop[.]example/")', true],
    ['context.page.url.contains("/cart")', true],
    ['has(properties.coupon)', false],
    ['has(properties.currency) && properties.currency == "EUR"', true],
    ['has(properties.coupon) && properties.coupon == "X"', false],
    ['!has(traits.plan)', true],
    ['has(context.page) && has(context.page.url)', true],
    ['properties["promo code"] == "X"', true],
    ['"currency" in properties', true],
    ['properties.gift == null', true],
    ['has(properties.gift)', false],
    ['properties.constructor == "theirs"', true],
    ['properties.products.exists(p, p.price > 100)', true],
    ['properties.products.all(p, p.price > 100)', false],
    ['properties.products.exists_one(p, p.sku == "a")', true],
    ['properties.products.map(p, p.price) == [10, 120]', true],
    ['properties.products.filter(p, p.price > 100).size() == 1', true],
    ['properties.products[1].sku == "b"', true],
    ['"summer" in properties.tags', true],
    ['size(properties.tags) == 2', true],
    ['properties.all(key, key != "secret")', true],
    ['userId != "" && anonymousId == ""', true],
    ['timestamp > timestamp("2026-01-01T00:00:00Z")', true],
    ['timestamp.getHours("+01:00") == 6', true],
    ['receivedAt - timestamp < duration("1h")', true],
    ['type(properties.total) == double', true],
    ['properties.total > 100 ? event != "" : false', true],
    // a missing field beside a deciding condition
    ['type == "identify" && traits.plan == "pro"', false],
    ['traits.plan == "pro" || type == "track"', true],
  ])('of %s is %s', (text, expected) => {
    expect(evaluate(text)).toBe(expected);
  });

  test('treats missing fields of a message as empty', () => {
    const bare: Message = {
      type: 'page',
      messageId: 'm',
      timestamp: message.timestamp,
      receivedAt: message.receivedAt,
    };
    const text =
      'event == "" && userId == "" && name == "" && size(properties) == 0 && size(context) ' +
      '== 0 && !has(traits.x) && integrations == {}';
    expect(evaluate(text, bare)).toBe(true);
  });

  test('does not depend on the evaluation before', () => {
    const filter = compiled('properties.total > 100');
    const cheap = messageVariables({ ...message, properties: { total: 1 } });
    const none = messageVariables({ ...message, properties: {} });
    const all = [messageVariables(message), cheap, none, messageVariables(message)];
    expect(all.map((variables) => filter.evaluate(variables))).toEqual([
      true,
      false,
      expect.objectContaining({ code: 'missing' }),
      true,
    ]);
  });
});

describe('a failed evaluation is no match and has a reason', () => {
  test.each([
    ['properties.nothing > 3', 'missing', 'there is no "nothing"'],
    ['context.page.title.size() > 3', 'missing', 'there is no "title"'],
    ['properties.tags[7] == "x"', 'missing', 'the list is not that long'],
    ['properties.currency > 3', 'type', '> does not take string and int'],
    ['properties.total.startsWith("1")', 'type', 'startsWith() does not take double and string'],
    ['properties.currency.page == "x"', 'missing', 'there is no "page"'],
    [
      'properties.total * 2 > 3',
      'type',
      '* does not take double and int: numbers of a message are doubles, write 2.0 for 2, ' +
        'or double(…) around a whole number beyond 2^53',
    ],
    ['properties.currency && true', 'type', 'a condition is neither true nor false'],
    ['properties.total', 'type', 'the result is double, not true or false'],
    ['properties.total.exists(x, x)', 'type', 'only lists and maps can be iterated'],
    ['1 / size(groupId) == 1', 'other', 'it divides by zero'],
    ['int(event) == 1', 'type', 'the text is not a whole number'],
    ['timestamp(event) > timestamp', 'type', 'the text is not a time such as 2026-01-31T12:00:00Z'],
  ])('%s fails with %s', (text, code, reason) => {
    expect(evaluate(text)).toEqual({ code, message: reason, position: expect.anything() });
  });
});

describe('a mistake has a position', () => {
  test.each([
    ['', 1, 1, /Write an expression/],
    ['event = "x"', 1, 7, /"=" is unexpected here. To compare, write ==/],
    ['event == "x" and userId == "y"', 1, 14, /For "and", write &&/],
    ['event ==\n  "x" ||\n  evnt == "y"', 3, 3, /Unknown name "evnt".*event/],
    ['type == "track" &&', 1, 19, /ends too early/],
    ['event == "x', 1, 10, /quote/],
    ['properties.total >', 1, 19, /ends too early/],
    ['event > 3', 1, 7, /> does not take string and int/],
    ['event == 3', 1, 7, /string and int are never equal/],
    ['true && event', 1, 9, /&& connects two conditions; this is string/],
    ['properties.total + 1', 1, 18, /is int but must be true or false/],
    ['event + "x"', 1, 7, /is string but must be true or false/],
    ['[1, 2]', 1, 1, /is list/],
    ['event.total == 1', 1, 6, /string has no fields/],
    ['has(event)', 1, 1, /has\(\) takes a field/],
    ['properties.products.all(p.price > 1)', 1, 20, /all\(\) needs a name for the item/],
    ['event.starts("x")', 1, 6, /Unknown function "starts"/],
    ['event.startsWith(3)', 1, 6, /startsWith\(\) of string does not take int/],
    ['event.matches("(a")', 1, 15, /Invalid pattern: missing closing \)/],
    ['event.matches("(a{1000}){1000}")', 1, 15, /Invalid pattern/],
    ['event.matches(userId)', 1, 15, /needs a literal pattern/],
    ['timestamp.getHours("Nowhere/X") == 1', 1, 20, /Unknown time zone "Nowhere\/X"/],
    ['timestamp > timestamp("2026-01-31")', 1, 13, /always fails: the text is not a time such as/],
    ['timestamp("x").getHours() == 1', 1, 1, /always fails: the text is not a time/],
    ['timestamp - timestamp > duration("1d")', 1, 25, /always fails: the text is not a duration/],
    ['event == "x" || int("one") == 1', 1, 17, /always fails: the text is not a whole number/],
    ['uint(-1) == 1u', 1, 1, /always fails: a number is too large/],
    ['1 / 0 == 1', 1, 3, /always fails: it divides by zero/],
    ['properties.products.exists(p, p.at < timestamp("x"))', 1, 38, /always fails/],
    ['count("Order") > 3', 1, 1, /Unknown function "count"/],
    ['99999999999999999999 == 1', 1, 1, /too large/],
    ['Foo{a: 1} == 3', 1, 1, /Message types are not supported/],
    ['event.replace("a", "b") == ""', 1, 6, /Unknown function "replace"/],
  ])('%j is wrong at line %d, column %d', (text, line, column, message) => {
    const found = compileExpression(text, 'filter');
    expect(found).toMatchObject({
      kind: 'mistake',
      position: { line, column },
      message: expect.stringMatching(message),
    });
    const { position } = found as { position: { offset: number } };
    expect(text.slice(0, position.offset).split('\n')).toHaveLength(line);
  });
});

describe('a condition on a user', () => {
  const vip =
    'user.traits.plan == "pro" && count("Order", duration("720h")) >= 3 && sum("Order", ' +
    '"total") > 100.5';

  test('lists each counter that it reads, once', () => {
    const text =
      `${vip} && (last("Order", "coupon") != null || count("Order", duration("43200m") ) > 3 ` +
      '|| first("Order", "a.b") == 1)';
    expect(compiled(text, 'audience').counters).toEqual([
      { name: 'count', event: 'Order', windowMs: 30 * 86_400_000 },
      { name: 'sum', event: 'Order', property: 'total' },
      { name: 'last', event: 'Order', property: 'coupon' },
      { name: 'first', event: 'Order', property: 'a.b' },
    ]);
    expect(compiled('type == "track"').counters).toEqual([]);
  });

  test.each([
    [{ plan: 'pro' }, { count: 3, sum: 101 }, true],
    [{ plan: 'pro' }, { count: 2, sum: 101 }, false],
    [{ plan: 'pro' }, { count: 3, sum: 100.5 }, false],
    [{ plan: 'free' }, { count: 3, sum: 101 }, false],
    [{ plan: 'pro' }, {}, false],
    [
      {},
      { count: 3, sum: 101 },
      expect.objectContaining({ code: 'missing', message: 'there is no "plan"' }),
    ],
  ])(
    'of traits %j with counters %j gives %s',
    (traits, counted: { count?: number; sum?: number }, expected) => {
      const read = ({ name }: CounterCall) => counted[name as 'count' | 'sum'];
      expect(compiled(vip, 'audience').evaluate(userVariables({ id: 'u', traits }), read)).toEqual(
        expected,
      );
    },
  );

  test.each([
    ['last("Order", "plan") == "pro"', 'pro', true],
    ['last("Order", "plan") == null', undefined, true],
    ['last("Order", "cart").items[0] == 1', { items: [1] }, true],
    ['["a", "b"].exists(p, last("Order", "plan") == p)', 'b', true],
    ['user.id == "u" && count("Order") % 2 == 1', 5, true],
  ])('%s with the counter %j is %s', (text, value, expected) => {
    expect(
      compiled(text, 'audience').evaluate(userVariables({ id: 'u', traits: {} }), () => value),
    ).toBe(expected);
  });

  test.each([
    ['count(user.traits.event) > 1', 18, /name of an event as a text literal/],
    ['count("") > 1', 7, /name of an event/],
    ['sum("Order", user.traits.property) > 1.0', 25, /name of a property/],
    ['count("Order", duration("yesterday")) > 1', 16, /a literal duration.*720h/],
    ['timestamp(user.traits.at) < timestamp("x")', 29, /always fails: the text is not a time/],
    ['count("Order", duration("-1h")) > 1', 16, /a literal duration/],
    ['count("Order", user.traits.window) > 1', 27, /a literal duration/],
    ['["Order"].exists(e, count(e) > 1)', 27, /name of an event/],
    ['count("Order", "30d") > 1', 1, /count\(\) does not take string and string/],
    ['event == "x"', 1, /Unknown name "event". Known names: user/],
  ])('%s is refused', (text, column, message) => {
    expect(compileExpression(text, 'audience')).toMatchObject({
      position: { column },
      message: expect.stringMatching(message),
    });
  });
});
