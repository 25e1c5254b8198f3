import { eventually } from '../support/eventually';
import { someTracks } from '../support/factories';
import { openStorySystem, type StorySystem } from '../support/story-system';

/** SIGTERM to delivery while its lanes are full: what is in flight ends, and what waits is left to the next process. */

const CALLS = 100;
const PATH = '/patient';

let stage: StorySystem;
beforeAll(async () => {
  // Longer than it takes until the endpoint is let answer, and shorter than the 25 s that delivery has to stop.
  stage = await openStorySystem({ env: { WAYPOST_TIMEOUT: '20s' } });
});
afterAll(() => stage.close());

test('it ends without sending what had not begun, and nothing is sent twice', async () => {
  const { system, sink, topics } = stage;
  // Given an endpoint that answers nothing until it is let, and more calls than its lane has open at once.
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
  // What came after them has been delivered: they were all read.
  await stage.settled();

  // When delivery is told to stop, and then the endpoint answers at last.
  const before = system.pids('delivery');
  const [pid] = before;
  system.kill('delivery', 'SIGTERM');
  await eventually(async () => {
    const port = system.env.WAYPOST_DELIVERY_HEALTH_PORT!;
    const ready = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (ready) throw new Error('it does not stop yet');
  });
  answer();
  await eventually(() => expect(system.pids('delivery')).not.toContain(pid), { everyMs: 20 });

  // Then it has sent no more than was in flight; its successor sends the rest, and each call arrives once.
  expect(sink.received(PATH)).toHaveLength(inFlight);
  await eventually(() => expect(sink.deliveries(PATH).distinct).toBe(CALLS), { deadlineMs: 120_000 });
  await eventually(() => {
    for (const { messageId } of calls) expect(topics.attemptsOf(messageId)).toHaveLength(1);
  });
  expect(sink.deliveries(PATH).repeats).toBe(0);
});
