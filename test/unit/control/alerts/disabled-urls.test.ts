import pino from 'pino';
import {
  type DisabledUrlsOptions,
  writeDisabledUrls,
} from '../../../../services/control/alerts/disabled-urls';
import { type Destination } from '../../../../shared/model/config';
import { aDestination } from '../../../support/factories';

const webhook = { id: 'whk_1', url: 'sealed', origin: 'https://a.example', headers: {} };
const before = aDestination({ webhooks: [{ ...webhook, disabled: { at: '', reason: 'user' } }] });
const after = aDestination({ webhooks: [{ ...webhook, enables: 1 }] });
const fact = {
  about: 'dst_1',
  mark: 'whk_1/1',
  firstAt: 0,
  at: 0,
  event: JSON.stringify({
    kind: 'url_disabled',
    destination: 'dst_1',
    webhook: 'whk_1',
    enables: 1,
    reason: 'gone',
  }),
};

/** @param seen the destination as this process has seen it so far */
function process(seen: Destination | undefined, facts: object[], refresh: () => Promise<void>) {
  const dropped: string[] = [];
  let known = seen;
  const database = {
    query: (sql: string) => {
      if (sql.startsWith('select')) return Promise.resolve(facts);
      dropped.push(sql);
      return Promise.resolve([]);
    },
  };
  const options = {
    history: { ask: (work: (from: object) => unknown) => work(database) },
    config: {
      destination: () => known && { version: 1, data: known },
      refresh: () => refresh().then(() => (known = after)),
    },
    entries: {
      change: (_: string, __: object, decide: (data: Destination) => Destination) => {
        known = decide(known!);
        return Promise.resolve();
      },
    },
    now: () => new Date(0),
    log: pino({ level: 'silent' }),
  } as unknown as DisabledUrlsOptions;
  return {
    look: () => writeDisabledUrls(options),
    dropped,
    isOff: () => known?.webhooks[0]?.disabled !== undefined,
  };
}

test.each([
  ['made', undefined],
  ['switched on again', before],
])(
  'an event about a URL that another process has just %s switches it off',
  async (_, seen: Destination | undefined) => {
    const { look, isOff, dropped } = process(seen, [fact], () => Promise.resolve());
    await look();
    expect([isOff(), dropped]).toEqual([true, [expect.stringContaining('delete')]]);
  },
);

test('without the present configuration no event is dropped', async () => {
  const { look, dropped } = process(undefined, [fact], () => Promise.reject(new Error('away')));
  await expect(look()).rejects.toThrow('away');
  expect(dropped).toEqual([]);
});

test('without an event nothing is read', async () => {
  const { look } = process(undefined, [], () => Promise.reject(new Error('away')));
  await expect(look()).resolves.toBeUndefined();
});
