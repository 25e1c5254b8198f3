import { Recalls } from '../../../services/retry/recalls';
import { createLog } from '../../../shared/telemetry/log';
import { recordingProducer } from '../../support/fakes';
import { aRecord } from '../../support/factories';

test('a due record of a new partition waits for the notes of its last owner, and asks for them', () => {
  let completeAt = 0;
  let asked = 0;
  let steadyMs = 1_000;
  const unused = () => Promise.reject(new Error('Kafka was asked'));
  const recalls = new Recalls({
    kafka: { read: unused, ranges: unused, committed: unused },
    producer: recordingProducer(),
    tiers: () => ['webhooks.retry.10s'],
    completeAt: () => completeAt,
    expectSoon: () => asked++,
    now: () => 1_700_000_000_000,
    steadyMs: () => steadyMs,
    sleep: () => Promise.resolve(),
    keepMs: 86_400_000,
    log: createLog('test', 'silent'),
  });
  recalls.positions.onAssigned(new Set([3]));
  const due = aRecord({ topic: 'webhooks.retry.10s', partition: 3 });
  expect(recalls.check(due)).toEqual({ againInMs: 50 });
  expect(asked).toBe(1);
  steadyMs = 1_100;
  completeAt = 1_050;
  expect([recalls.check(due), asked]).toEqual(['return', 1]);
});
