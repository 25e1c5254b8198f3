import { findRecord } from '../../../../services/control/deliveries/delivery-body';
import { applyEvent } from '../../../../services/control/history/delivery-row';
import { candidateOf, replayRecords } from '../../../../services/control/replays/candidates';
import { type DeliveryEvent } from '../../../../shared/model/attempt-events';
import { messageHeaders } from '../../../../shared/model/message';
import { START } from '../../../support/events';
import { aDestination } from '../../../support/factories';
import { aSource } from '../../../support/fakes';
import { memoryLog } from '../../../support/memory-log';

test('a delivery replayed from its message has a body before its first attempt', async () => {
  const memory = memoryLog();
  const message = {
    type: 'track' as const,
    messageId: 'msg-1',
    timestamp: '2026-01-01T00:00:00.000Z',
    userId: 'kim',
    event: 'Order',
  };
  const about = { acceptedAtMs: START, traceparent: `00-${'1'.repeat(32)}-${'1'.repeat(16)}-00` };
  const headers = messageHeaders('src_1', message, about);
  memory.append([{ topic: 'messages', key: null, value: JSON.stringify(message), headers }]);
  const [call] = memory.records('messages');
  const config = {
    source: () => ({ version: 1, data: aSource() }),
    destination: () => ({ version: 1, data: aDestination() }),
  };
  const scope = {
    destination: 'dst_1',
    origin: 'messages' as const,
    from: null,
    to: START + 1,
    status: null,
    reason: null,
    type: null,
    includeDelivered: false,
    onlyFailedUrls: false,
  };
  const candidate = candidateOf(call!, scope, config)!;
  const sent = replayRecords(candidate, 1, { nowMs: Date.now(), windowMs: 1_000 });
  memory.append(sent);
  const row = applyEvent(undefined, JSON.parse(String(sent[0]!.value)) as DeliveryEvent);
  expect(row.record).toBe('messages/0/0');
  const found = await findRecord(memory.kafka, row);
  expect(JSON.parse(String(found?.value))).toMatchObject({ type: 'track', event: 'Order' });
});
