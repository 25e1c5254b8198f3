import { type Call, aTrack } from './factories';
import { eventually } from './eventually';
import { type ReceivedRequest, type Sink, startSink } from '../../tools/harness/sink';
import { type Destination, type Json, type Source } from '../../tools/harness/api';
import { startSystem, type System, type SystemOptions } from '../../tools/harness/system';
import { openTopics, type Topics } from './topics';

/**
 * A system, a receiver and the topics that tests read. Each test has its own source, destination
 * and paths at the receiver, so that tests do not interfere.
 */
export interface StorySystem {
  system: System;
  sink: Sink;
  topics: Topics;
  /** Creates a source and one destination for it. Every service knows both when this resolves. */
  connect(fields: {
    webhooks: { url: string; headers?: Record<string, string> }[];
    [key: string]: unknown;
  }): Promise<Connection>;
  /** Resolves when router and delivery have read the current `config`. */
  settled(): Promise<void>;
  /** Asks control for a path until the response passes the check. */
  ask(path: string, fits: (body: Json) => void): Promise<Json>;
  close(): Promise<void>;
}

export interface Connection {
  source: Source;
  destination: Destination;
  /**
   * POSTs a call (default a track) to the path of its type. @returns the call. @throws Error if the
   * status is not 200
   */
  send(call?: Call): Promise<Call>;
  /** PATCHes the destination. @throws Error if the status is not 200 */
  change(patch: object): Promise<void>;
}

export async function openStorySystem(
  options: SystemOptions & { host?: string } = {},
): Promise<StorySystem> {
  const { host, ...systemOptions } = options;
  const sink = await startSink(host === undefined ? {} : { host });
  const system = await startSystem(systemOptions).catch(async (error: unknown) => {
    await sink.close();
    throw error;
  });
  const topics = await openTopics(system);
  let probes = 0;

  const settled = async () => {
    // `config` is read in order: a service that knows this newest destination knows everything
    // written before it.
    const name = `settled-${++probes}`;
    const path = `/${name}`;
    const probe = await system.createSource(name);
    await system.createDestination({
      name,
      sources: [probe.id],
      webhooks: [{ url: sink.url(path) }],
    });
    await eventually(
      async () => {
        await system.send(probe.writeKey, 'track', aTrack());
        await sink.waitFor(1, { path, timeoutMs: 250 });
      },
      { everyMs: 0 },
    );
  };
  const connect: StorySystem['connect'] = async (fields) => {
    const source = await system.createSource();
    const destination = await system.createDestination({ sources: [source.id], ...fields });
    await settled();
    return {
      source,
      destination,
      send: async (call = aTrack()) => {
        const answer = await system.send(source.writeKey, call.type, call);
        if (answer.status !== 200) {
          throw new Error(`ingest answered ${answer.status}: ${JSON.stringify(answer.body)}`);
        }
        return call;
      },
      change: async (patch) => {
        const answer = await system.control('PATCH', `/destinations/${destination.id}`, patch);
        if (answer.status !== 200) {
          throw new Error(`control answered ${answer.status}: ${JSON.stringify(answer.body)}`);
        }
      },
    };
  };
  return {
    system,
    sink,
    topics,
    connect,
    ask: (path, fits) =>
      eventually(async () => {
        const { status, body } = await system.control('GET', path);
        expect(status).toBe(200);
        fits(body);
        return body;
      }),
    settled,
    close: async () => {
      await topics.close();
      await system.discard();
      await sink.close();
    },
  };
}

/** Returns the value of a header that all requests share. @throws Error if they differ */
export function common(requests: ReceivedRequest[], header: string): string {
  const values = new Set(requests.map((request) => request.headers[header]));
  const [value] = values;
  if (values.size !== 1 || value === undefined) {
    throw new Error(`${header} is ${JSON.stringify([...values])}`);
  }
  return value;
}
