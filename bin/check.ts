import { randomUUID } from 'node:crypto';
import { type Delivery } from '../shared/api/operations';
import { sleep } from '../shared/runtime/async';
import { isUnderWay } from '../shared/model/reasons';
import { AppError, messageOf } from '../shared/runtime/errors';
import { loadSettings } from '../shared/runtime/settings';
import { type ControlAccess, askControl, CALLS, sendCall } from '../dev/demo-client';
import { startReceiver } from '../dev/demo-receiver';

/**
 * `service check ADDRESS`: sends a call through a running installation and waits until it arrives.
 * It creates a source and a destination for itself, and deletes both. `helm test` runs it.
 *
 * ADDRESS is the address at which delivery reaches this process. If the installation does not allow
 * webhooks to that network, delivery refuses the address. The call has then passed every service as
 * well, and the check succeeds.
 */

/** The name of the source and of the destination. */
const NAME = 'Check of the installation';
/** The port that network policies open for the check. */
const PORT = 8080;
/** Pods may still be starting when the check begins. */
const ACCEPTED_WITHIN_MS = 60_000;
const ARRIVED_WITHIN_MS = 120_000;
const POLL_MS = 250;
/** The services read `config` a moment after control has written it. */
const CONFIG_SPREADS_MS = 1_000;

type Result = Pick<Delivery, 'status' | 'reason' | 'attempts'>;

interface Arrivals {
  /** webhooks with two valid signatures */
  genuine: number;
  forged: number;
}

/**
 * Runs the check and prints each step.
 * @param port the port to listen at
 * @throws AppError `cannot_start` with the step that failed and what to look at
 */
export async function check(
  address: string | undefined,
  env: NodeJS.ProcessEnv,
  say: (line: string) => void,
  port = PORT,
): Promise<void> {
  const { control, ingestUrl } = systemOf(env);
  if (address === undefined) {
    throw new AppError('cannot_start', 'Say at which address delivery reaches this process.');
  }
  const secret = randomUUID();
  const arrivals = { genuine: 0, forged: 0 };
  const receiver = await startReceiver({
    secret,
    refuse: () => false,
    onReceipt: ({ xSignatureOk, webhookSignatureOk }) =>
      arrivals[xSignatureOk && webhookSignatureOk ? 'genuine' : 'forged']++,
    host: address,
    port,
  });
  try {
    const source = await createSource(control);
    const destination = await createDestination(control, {
      source: source.id,
      secret,
      url: receiver.url('/check'),
    });
    say('control: created a source and a destination');
    try {
      await sleep(CONFIG_SPREADS_MS);
      await within(ACCEPTED_WITHIN_MS, 'ingest did not accept a call', () =>
        sendCall(ingestUrl, source.writeKey, 'track', CALLS.track),
      );
      say('ingest: accepted a call');
      say(verdict(await waitForResult(control, destination), arrivals));
    } finally {
      await askControl(control, 'DELETE /destinations/{id}', { id: destination });
      await askControl(control, 'DELETE /sources/{id}', { id: source.id });
    }
  } finally {
    receiver.close();
  }
}

function systemOf(env: NodeJS.ProcessEnv): { control: ControlAccess; ingestUrl: string } {
  const ingestUrl = loadSettings(env).WAYPOST_INGEST_URL;
  const { WAYPOST_URL: controlUrl, WAYPOST_TOKEN: adminToken } = env;
  if (ingestUrl && controlUrl && adminToken) {
    return { control: { controlUrl, adminToken }, ingestUrl };
  }
  throw new AppError(
    'bad_settings',
    'The check needs WAYPOST_INGEST_URL, WAYPOST_URL (of control) and WAYPOST_TOKEN (of an ' +
      'administrator).',
  );
}

async function createSource(control: ControlAccess): Promise<{ id: string; writeKey: string }> {
  return within(ACCEPTED_WITHIN_MS, 'control did not create a source', async () => {
    const { id, writeKey } = (await askControl(control, 'POST /sources', { body: { name: NAME } }))
      .data;
    if (writeKey === null) throw new Error('its write key cannot be decrypted');
    return { id, writeKey };
  });
}

async function createDestination(
  control: ControlAccess,
  { source, secret, url }: { source: string; secret: string; url: string },
): Promise<string> {
  const fields = {
    name: NAME,
    type: 'webhooks' as const,
    enabled: true,
    sources: [source],
    webhooks: [{ url }],
  };
  return (
    await askControl(control, 'POST /destinations', { body: { ...fields, sharedSecret: secret } })
  ).data.id;
}

/** Waits until the history has the result of the one delivery. */
async function waitForResult(control: ControlAccess, destination: string): Promise<Result> {
  return within(ARRIVED_WITHIN_MS, 'the call was not delivered', async () => {
    const [delivery] = (await askControl(control, 'GET /deliveries', { query: { destination } }))
      .data.data;
    if (!delivery) {
      throw new Error(
        'control knows no delivery of it. Look at the logs of router, delivery and control',
      );
    }
    if (isUnderWay(delivery.status)) throw new Error(describe(delivery));
    return delivery;
  });
}

/**
 * Judges the result of the delivery.
 * @returns a sentence for success: the call arrived, or delivery refused only the address of this
 *   process
 * @throws AppError `cannot_start` for any other result
 */
export function verdict(delivery: Result, { genuine, forged }: Arrivals): string {
  const path = 'ingest, router, delivery and the history of control work';
  if (forged > 0) throw failed('a webhook arrived with a signature that does not match');
  if (delivery.status === 'delivered') {
    if (genuine === 1) return `The call arrived once, with both signatures: ${path}.`;
    throw failed(
      `control says that the call was delivered, but ${String(genuine)} webhooks arrived`,
    );
  }
  const codes = delivery.attempts.flatMap(({ urls }) => urls.map(({ error }) => error?.code));
  if (codes.length > 0 && codes.every((code) => code === 'forbidden_address')) {
    return (
      'Delivery refused the private address of this check, because no allowed network ' +
      `contains it: ${path}.`
    );
  }
  throw failed(describe(delivery));
}

function describe({ status, reason, attempts }: Result): string {
  const error = attempts.at(-1)?.urls[0]?.error;
  return [`the delivery is ${status}`, reason, error && `${error.code}: ${error.message}`]
    .filter(Boolean)
    .join(', ');
}

function failed(why: string): AppError {
  return new AppError('cannot_start', `The check failed: ${why}`);
}

/** Repeats a step until it succeeds. @throws AppError with the last reason when the time is over */
async function within<T>(ms: number, otherwise: string, step: () => Promise<T>): Promise<T> {
  const until = performance.now() + ms;
  for (;;) {
    try {
      return await step();
    } catch (error) {
      if (performance.now() >= until) {
        throw failed(`${otherwise} within ${String(ms / 1000)} s: ${messageOf(error)}`);
      }
      await sleep(POLL_MS);
    }
  }
}
