import { type Answer, Forwarder, type ForwarderOptions } from '../../../cli/listen/forward';
import { type Forward } from '../../../cli/listen/choose-events';
import { verifyWebhook } from '../../../clients/node/src/webhook';
import { prepareSecrets } from '../../../shared/model/sign';
import { eventually } from '../../support/eventually';
import { freePort } from '../../support/free-port';
import { type Sink, startSink } from '../../../tools/harness/sink';

/** The requests of a listener, to real servers that start and stop. */

let sink: Sink;
let forwarder: Forwarder;
beforeEach(async () => {
  sink = await startSink();
});
afterEach(async () => {
  await forwarder.close(0);
  await sink.close();
});

const EVENT = { id: 'e', at: '', source: 'src_1', accepted: true, call: {}, warnings: [] };
const aForward = (n: number): Forward => ({
  id: `dlv_${n}`,
  body: Buffer.from(`{"n":${n}}`),
  event: EVENT,
});

function start(options: Partial<ForwarderOptions> = {}) {
  const answers: (Answer & { id: string })[] = [];
  const said: (string | undefined)[] = [];
  forwarder = new Forwarder({
    target: new URL(sink.url('/hook')),
    secrets: prepareSecrets({ current: 'a secret' }),
    headers: { 'X-Own': 'mine' },
    concurrency: 2,
    timeoutMs: 5_000,
    onAnswer: ({ id }, answer) => answers.push({ ...answer, id }),
    onAway: (why) => said.push(why),
    ...options,
  });
  return { answers, said };
}

test('a forwarded request has the method, headers and signatures of a delivery', async () => {
  const { answers } = start();
  forwarder.offer(aForward(1));
  const [request] = await sink.waitFor(1);
  for (const scheme of ['standard', 'x-signature'] as const) {
    const { headers, body } = request!;
    expect(verifyWebhook({ headers, body, secret: 'a secret', scheme }).event).toEqual({ n: 1 });
  }
  expect(request).toMatchObject({
    method: 'POST',
    headers: {
      'webhook-id': 'dlv_1',
      'x-own': 'mine',
      'content-type': 'application/json',
      'user-agent': 'Waypost/1.0',
      traceparent: expect.stringMatching(/^00-/),
    },
  });
  await eventually(() => expect(answers).toMatchObject([{ id: 'dlv_1', status: 200, tries: 1 }]));
});

test('the forwarder waits for an unreachable server and loses no event', async () => {
  const port = await freePort();
  const { answers, said } = start({ target: new URL(`http://127.0.0.1:${port}/hook`) });
  for (let n = 0; n < 20; n++) expect(forwarder.offer(aForward(n))).toBe(true);
  await eventually(() => expect(said).toEqual(['ECONNREFUSED']));
  const late = await startSink({ port });
  await eventually(() => expect(answers).toHaveLength(20));
  expect(late.deliveries('/hook')).toMatchObject({ distinct: 20, repeats: 0 });
  expect(said).toEqual(['ECONNREFUSED', undefined]);
  await late.close();
});

test('a request whose connection broke is repeated with the same id', async () => {
  sink.on('/hook', [{ misbehave: 'reset' }, { status: 500 }]);
  const { answers } = start();
  forwarder.offer(aForward(1));
  await eventually(() => expect(answers).toMatchObject([{ id: 'dlv_1', status: 500, tries: 2 }]));
  expect(sink.deliveries('/hook')).toMatchObject({ distinct: 1, repeats: 1 });
});

test('a request that times out is not repeated', async () => {
  sink.on('/hook', [{ misbehave: 'hang' }, {}]);
  const { answers } = start({ timeoutMs: 2_000, concurrency: 1 });
  forwarder.offer(aForward(1));
  forwarder.offer(aForward(2));
  await eventually(() => expect(answers).toHaveLength(2));
  expect(answers).toMatchObject([
    { id: 'dlv_1', status: undefined, tries: 1 },
    { id: 'dlv_2', status: 200 },
  ]);
  expect(sink.received('/hook')).toHaveLength(2);
});

test('the forwarder counts events a full queue drops, and those unsent at the end', async () => {
  sink.on('/hook', { misbehave: 'hang' });
  start({ concurrency: 1 });
  let accepted = 0;
  while (forwarder.offer(aForward(accepted))) accepted++;
  expect(accepted).toBeGreaterThan(1_000);
  expect([forwarder.offer(aForward(accepted)), forwarder.dropped]).toEqual([false, 2]);
  await sink.waitFor(1);
  expect(await forwarder.close(10)).toBe(accepted);
});
