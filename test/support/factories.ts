import { randomUUID } from 'node:crypto';
import { type CallType } from '../../shared/model/message';

/** Test data: complete objects, with overrides for the fields that a test is about. */

/** A call as a client sends it. */
export interface Call {
  type: CallType;
  messageId: string;
  userId: string;
  [field: string]: unknown;
}

const FIELDS: Record<CallType, object> = {
  track: { event: 'Order Completed', properties: { orderId: 'A-17', total: 12.5 } },
  identify: { traits: { email: 'kim@example.com', plan: 'pro' } },
  page: { name: 'Pricing', category: 'Docs', properties: { url: 'https://shop.example/pricing' } },
  screen: { name: 'Cart', properties: { items: 3 } },
  group: { groupId: 'team-4', traits: { name: 'Team Four' } },
  alias: { previousId: 'visitor-9' },
};

/** Returns a call of any type, with a new id. */
export function aCall(type: CallType, over: Partial<Call> = {}): Call {
  return { type, messageId: `msg-${randomUUID()}`, userId: 'user-1', ...FIELDS[type], ...over };
}

export function aTrack(over: Partial<Call> = {}): Call {
  return aCall('track', over);
}

/** Returns `count` tracks of different users. */
export function someTracks(count: number): Call[] {
  return Array.from({ length: count }, (_, i) => aTrack({ userId: `user-${i}` }));
}
