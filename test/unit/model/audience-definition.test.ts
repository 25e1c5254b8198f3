import { keyOf } from '../../../shared/model/audience-definition';

test.each([
  ['VIP Customers', 'vip_customers'],
  ['vipCustomers', 'vip_customers'],
  ['HTTPClients', 'http_clients'],
  ['Top 10%', 'top_10'],
  ['top10Buyers', 'top10_buyers'],
  ['  spaced -- out  ', 'spaced_out'],
  ["Today's buyers", 'todays_buyers'],
  ['Crème brûlée', 'crème_brûlée'],
  ['Cre\u0300me', 'crème'],
  ['ＶＩＰ　会員', 'vip_会員'],
  ['重要な顧客', '重要な顧客'],
  ['Важные Клиенты', 'важные_клиенты'],
  ['عملاء مهمون', 'عملاء_مهمون'],
  ['हिन्दी नाम', 'हिन्दी_नाम'],
  ['already_snake_case', 'already_snake_case'],
  ['!!!', undefined],
  ['🙂', undefined],
  ['', undefined],
  ['x'.repeat(101), undefined],
])('the name %j becomes the trait %j', (name, key) => {
  expect(keyOf(name)).toBe(key);
});

test('the key of a key is the same key', () => {
  for (const name of ['VIP Customers', 'İstanbul', 'Straße 7', 'ǅ test']) {
    const key = keyOf(name)!;
    expect(keyOf(key)).toBe(key);
  }
});
