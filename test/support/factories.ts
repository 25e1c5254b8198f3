import { randomUUID } from 'node:crypto';
import { viewPlain } from '../../services/control/destinations/plain-fields';
import { type Endpoint } from '../../services/delivery/destinations/endpoint';
import { type Destination as DestinationView } from '../../shared/api/operations';
import { type OpenRecord } from '../../shared/kafka/port';
import { type Audience } from '../../shared/model/audience-definition';
import { type Destination } from '../../shared/model/config';
import { type Delivery } from '../../shared/model/delivery';
import { type CallType } from '../../shared/model/message';
import { at, START } from './events';

/**
 * Test data: complete objects, with overrides for the fields that a test is about. events.ts has
 * `anEvent`.
 */

/** Returns a destination as `config` stores it: enabled, connected to `src_1`, without a URL. */
export function aDestination(over: Partial<Destination> = {}): Destination {
  return {
    id: 'dst_1',
    name: 'Hooks',
    type: 'webhooks',
    enabled: true,
    paused: false,
    sources: ['src_1'],
    webhooks: [],
    createdAt: at(0),
    updatedAt: at(0),
    ...over,
  };
}

/** Returns a destination as the control API shows it: enabled, with one URL and a secret. */
export function aDestinationView(over: Partial<DestinationView> = {}): DestinationView {
  return {
    id: 'dst_1',
    name: 'Hooks',
    type: 'webhooks',
    ...viewPlain({ enabled: true, paused: false }),
    sources: ['src_1'],
    webhooks: [
      {
        id: 'whk_1',
        url: 'https://example.com/hook',
        headers: { Authorization: { keep: true } },
        auth: null,
        tls: null,
        disabled: null,
      },
    ],
    signature: null,
    hasSharedSecret: true,
    secretRotation: null,
    request: null,
    batch: null,
    retry: null,
    proxy: null,
    version: 3,
    createdAt: at(0),
    updatedAt: at(0),
    ...over,
  };
}

/** Returns an audience as `config` stores it: without a condition, so its members are uploaded. */
export function anAudience(over: Partial<Audience> = {}): Audience {
  return {
    id: 'aud_1',
    name: 'Pro',
    key: 'pro',
    source: 's',
    syncEveryMs: 1_000,
    revision: 1,
    history: [],
    createdAt: at(0),
    updatedAt: at(0),
    ...over,
  };
}

/** Returns a URL of a destination, as delivery calls it. */
export function anEndpoint(over: Partial<Endpoint> = {}): Endpoint {
  return {
    id: 'whk',
    hash: 'hash',
    lane: 'dst/hash',
    destinationId: 'dst',
    destinationVersion: 1,
    shards: 4,
    origin: 'https://a.example',
    path: '/',
    staticHeaders: [],
    secrets: [],
    ...over,
  };
}

const WINDOW_MS = 4 * 3_600_000;

/** Returns a delivery that has not been tried. `expiresAt` is four hours after `acceptedAt`. */
export function aDelivery(over: Partial<Delivery> = {}): Delivery {
  const acceptedAt = over.acceptedAt ?? START;
  return {
    id: 'dlv_1',
    messageId: 'msg-1',
    sourceId: 'src_1',
    destinationId: 'dst_1',
    type: 'track',
    acceptedAt,
    expiresAt: acceptedAt + WINDOW_MS,
    attempt: 0,
    hop: 0,
    replay: 0,
    excludedUrls: [],
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    ...over,
  };
}

/**
 * Returns a record as a consumer gets it. Nothing happens if it is done, handed back or deferred.
 */
export function aRecord(over: Partial<OpenRecord> = {}): OpenRecord {
  return {
    topic: 'messages',
    partition: 0,
    offset: 0,
    epoch: 0,
    timestampMs: START,
    key: null,
    value: Buffer.from('{}'),
    headers: {},
    done: () => undefined,
    isRevoking: false,
    isInDoubt: false,
    handBack: () => false,
    defer: () => undefined,
    ...over,
  };
}

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
