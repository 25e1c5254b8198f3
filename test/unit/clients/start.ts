import { gunzipSync } from 'node:zlib';
import { Analytics } from '../../../clients/node/src/analytics';
import { type Message } from '../../../clients/node/src/calls';
import { type Failure, type Options } from '../../../clients/node/src/options';
import { detectPlatform, type Platform } from '../../../clients/node/src/platform';
import {
  type Behaviour,
  type ReceivedRequest,
  type Sink,
  startSink,
} from '../../../tools/harness/sink';

/** The client of clients/node with a server whose answers a test sets. */
export interface Rig {
  sink: Sink;
  analytics: Analytics;
  /** the calls of each request, in the order of arrival */
  batches(): SentCall[][];
  ids(): string[];
  delivered: string[];
  failed: { id: string; failure: Failure }[];
  close(): Promise<void>;
}

export interface SentCall extends Message {
  sentAt?: string;
}

const TAKEN = { body: '{"success":true}' };

export async function startRig(
  options: Partial<Options> & { answer?: Behaviour; platform?: Platform; backoffMs?: number } = {},
): Promise<Rig> {
  const { answer = TAKEN, platform = detectPlatform(), backoffMs = 1, ...rest } = options;
  const sink = await startSink();
  sink.on('/v1/batch', answer);
  const delivered: string[] = [];
  const failed: Rig['failed'] = [];
  const analytics = new Analytics(
    {
      writeKey: 'key',
      endpoint: sink.url('/'),
      flushAfterMs: 1,
      onDelivered: (messages) => delivered.push(...messages.map(({ messageId }) => messageId)),
      onFailed: (messages, failure) =>
        failed.push(...messages.map(({ messageId: id }) => ({ id, failure }))),
      ...rest,
    },
    { platform, backoffMs: () => backoffMs },
  );
  const batches = () => sink.received().map((request) => bodyOf(request).batch);
  return {
    sink,
    analytics,
    batches,
    ids: () => batches().flatMap((batch) => batch.map(({ messageId }) => messageId)),
    delivered,
    failed,
    close: async () => {
      await analytics.close({ timeoutMs: 0 });
      await sink.close();
    },
  };
}

export function bodyOf(request: ReceivedRequest): {
  batch: SentCall[];
  context: { library: { name: string } };
  sentAt?: string;
  writeKey?: string;
} {
  const body =
    request.headers['content-encoding'] === 'gzip' ? gunzipSync(request.body) : request.body;
  return JSON.parse(body.toString()) as ReturnType<typeof bodyOf>;
}

export function aTrack(messageId: string) {
  return { userId: 'u', event: 'Bought', messageId };
}
