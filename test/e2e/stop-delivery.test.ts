import { eventually } from '../support/eventually';
import { someTracks } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';

/**
 * SIGTERM to delivery while its lanes are full: requests in flight end, and the next process sends
 * the rest.
 */

const CALLS = 100;
const PATH = '/patient';

let stage: StorySystem;
beforeAll(async () => {
  // Longer than the endpoint is made to wait here, and shorter than the 25 s that delivery has to
  // stop.
  stage = await openStorySystem({ env: { WAYPOST_TIMEOUT: '20s' } });
});
afterAll(() => stage.close());

test('delivery finishes open requests, and the next process sends the rest once', async () => {
  const { system, sink, topics } = stage;
  // Given an endpoint that holds its answers, and more calls than its lane may have in flight.
  let answer: () => void = () => undefined;
  const answered = new Promise<void>((resolve) => (answer = resolve));
  sink.on(PATH, async () => {
    await answered;
    return {};
  });
  const { source } = await stage.connect({ webhooks: [{ url: sink.url(PATH) }] });
  const calls = someTracks(CALLS);
  expect((await system.send(source.writeKey, 'batch', { batch: calls })).status).toBe(200);
  const inFlight = 20;
  await sink.waitFor(inFlight, { path: PATH });
  // A later call was delivered: delivery has read all of these.
  await stage.settled();

  // When delivery gets SIGTERM, and then the endpoint answers.
  const before = system.pids('delivery');
  const [pid] = before;
  system.kill('delivery', 'SIGTERM');
  await eventually(async () => {
    const port = system.env.WAYPOST_DELIVERY_HEALTH_PORT!;
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) throw new Error('delivery is not stopping yet');
  });
  answer();
  await eventually(() => expect(system.pids('delivery')).not.toContain(pid), { everyMs: 20 });

  // Then it has sent only the requests in flight. Its successor sends the rest, and each call
  // arrives once.
  expect(sink.received(PATH)).toHaveLength(inFlight);
  await eventually(() => expect(sink.deliveries(PATH).distinct).toBe(CALLS), {
    deadlineMs: 120_000,
  });
  await eventually(() => {
    for (const { messageId } of calls) expect(topics.attemptsOf(messageId)).toHaveLength(1);
  });
  expect(sink.deliveries(PATH).repeats).toBe(0);
});
