import { startRouter } from '../../../services/router/assemble';
import { type ConsumeOptions, type Consumption } from '../../../shared/kafka/port';
import { createLog } from '../../../shared/telemetry/log';
import { fakeProgress } from '../../support/fakes';
import { aRecord } from '../../support/factories';
import { FORMAT_HEADER } from '../../../shared/model/record-format';

const AT = '2026-01-01T00:00:00.000Z';

/** A started router whose `config` knows no source, and which holds one message. */
async function setUp() {
  const asked: string[] = [];
  let consumed: ConsumeOptions | undefined;
  const consumption = {
    resume: () => asked.push('resume'),
    readDeferred: () => asked.push('readDeferred'),
    deferred: 0,
  } as unknown as Consumption;
  const config = Object.assign(fakeProgress(), {
    source: () => undefined,
    destinationsOf: () => [],
    unreadableDestinationsOf: () => [],
    isUnreadable: () => true,
  });
  await startRouter({
    kafka: {
      read: () => Promise.reject(new Error('not read')),
      ranges: () => Promise.resolve([]),
      committed: () => Promise.resolve([]),
      consume: (options) => {
        consumed = options;
        return Promise.resolve(consumption);
      },
    },
    producer: {
      send: () => Promise.resolve(),
      pendingBytes: 0,
      oldestPendingAt: undefined,
      close: () => Promise.resolve(),
    },
    config,
    windowMs: 1_000,
    log: createLog('router', 'silent'),
    onFatal: () => undefined,
  });
  const events: string[] = [];
  const record = aRecord({
    partition: 3,
    offset: 0,
    value: Buffer.from(
      JSON.stringify({
        type: 'track',
        event: 'e',
        messageId: 'm',
        userId: 'u',
        timestamp: AT,
        receivedAt: AT,
      }),
    ),
    headers: { format: FORMAT_HEADER, source: 's1', message: 'm', 'accepted-at': '1700000000000' },
    done: () => events.push('done'),
    handBack: () => events.push('handBack') > 0,
    defer: () => events.push('defer'),
  });
  const give = () => consumed!.onRecord(record);
  return { config, record, events, asked, give, revoke: () => consumed!.onRevoking?.() };
}

test('the router hands a held message back when the consumer revokes its partition', async () => {
  const { config, record, events, give, revoke } = await setUp();
  Object.assign(config, { isUnreadable: () => false });
  expect(give()).toBe('accepted');
  expect(events).toEqual([]);
  Object.assign(record, { isRevoking: true });
  revoke();
  expect(events).toEqual(['handBack']);
});

test('the consumer reads deferred messages again when the router can decide them', async () => {
  const { config, events, asked, give } = await setUp();
  give();
  expect(events).toEqual(['defer']);
  Object.assign(config, { isUnreadable: () => false });
  config.readToEnd(1);
  expect(asked).toEqual(['readDeferred']);
});
