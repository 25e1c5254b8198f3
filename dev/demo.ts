import { randomBytes, randomUUID } from 'node:crypto';
import { styleText } from 'node:util';
import { sleep } from '../shared/runtime/async';
import { demoDir } from '../shared/runtime/local-systems';
import { printAddresses } from './banner';
import { CALLS, demoDestination, demoSource, sendCall } from './demo-client';
import { type Receipt, startReceiver } from './demo-receiver';
import { localSettings, PORTS, takenPorts } from './local-settings';
import { freePorts } from './ports';
import { type LocalSystem, supervise } from './supervisor';

/**
 * `npm run demo`: starts the system with a source, a signed destination with two URLs, and a
 * receiver, and prints arrivals live. Both URLs refuse one call of the demo at first, so that you
 * see its retry. It has a client and a receiver of its own, because the image contains no tools.
 */

const PATHS = ['/crm', '/warehouse'];
const REFUSED_ONCE = 'track';
/** Each call at each URL, and the refused one twice. */
const EXPECTED = (Object.keys(CALLS).length + 1) * PATHS.length;
const ARRIVED_WITHIN_MS = 60_000;
/** The services follow the `config` topic: they learn of a new destination with a delay. */
const CONFIG_SPREADS_MS = 1_000;
const POLL_MS = 50;
/** Characters of a body that are printed. */
const BODY_CHARACTERS = 110;

/**
 * Runs the demo until it is stopped.
 * @param options `once`: until everything has arrived, for scripts
 * @returns the exit code; with `once` 0 only if all arrived in time and every signature was valid
 */
export async function demo(env: NodeJS.ProcessEnv, options: { once: boolean }): Promise<number> {
  return supervise({
    env: await demoEnvironment(env),
    onReady: async (system, stopping) => {
      printAddresses(system);
      system.output.say('waypost ready');
      const ok = await play(system, stopping, options.once);
      if (!options.once) return undefined;
      return ok ? 0 : 1;
    },
  });
}

/**
 * Sets a separate data dir and topic prefix, quiet services, short delays, and free ports if the
 * usual ones are taken.
 */
async function demoEnvironment(given: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const { env, settings } = localSettings({
    ...given,
    WAYPOST_TOPIC_PREFIX: given.WAYPOST_TOPIC_PREFIX || 'waypost-demo.',
    WAYPOST_RETRY_DELAYS: given.WAYPOST_RETRY_DELAYS || '2s,10s',
    WAYPOST_LOG_LEVEL: given.WAYPOST_LOG_LEVEL || 'warn',
  });
  const ports = Object.fromEntries(PORTS.map((name) => [name, settings[name]])) as Record<
    (typeof PORTS)[number],
    number
  >;
  const taken = (await takenPorts(ports, settings.WAYPOST_HOST)).filter(({ name }) => !given[name]);
  const free = await freePorts(taken.length, settings.WAYPOST_HOST);
  return {
    ...env,
    ...Object.fromEntries(taken.map(({ name }, i) => [name, String(free[i])])),
    WAYPOST_DATA_DIR: demoDir(settings.WAYPOST_DATA_DIR),
  };
}

/**
 * Sets up, sends, and prints. Returns whether everything arrived in time with a valid signature.
 */
async function play(system: LocalSystem, stopping: AbortSignal, once: boolean): Promise<boolean> {
  const { output } = system;
  const secret = `demo-${randomBytes(12).toString('hex')}`;
  const receipts: Receipt[] = [];
  // The demo's own call, and no other: a visitor's call arrives at once.
  const refused = randomUUID();
  const receiver = await startReceiver({
    secret,
    refuse: ({ messageId, attempt }) => messageId === refused && attempt === 1,
    onReceipt: (receipt) => {
      receipts.push(receipt);
      for (const line of printReceipt(receipt)) output.say(line);
    },
  });
  const source = await demoSource(system);
  const urls = PATHS.map((path) => receiver.url(path));
  await demoDestination(system, { source: source.id, secret, urls });

  output.say('');
  output.say(
    '  A demo source sends one call of each type; its destination has two URLs: ' +
      urls.join(' and '),
  );
  output.say(
    `  The receiver refuses the demo's "${REFUSED_ONCE}" at both with 503, to have it ` +
      'delivered again.',
  );
  output.say('');
  await sleep(CONFIG_SPREADS_MS);
  for (const [type, call] of Object.entries(CALLS)) {
    const messageId = type === REFUSED_ONCE ? refused : randomUUID();
    await sendCall(system.ingestUrl, source.writeKey, type, { ...call, messageId });
  }

  const until = performance.now() + ARRIVED_WITHIN_MS;
  while (receipts.length < EXPECTED && performance.now() < until && !stopping.aborted) {
    await sleep(POLL_MS);
  }
  if (stopping.aborted) return false;
  const problems = findProblems(receipts);
  for (const line of summary(receipts, problems)) output.say(line);
  if (!once) for (const line of howToGoOn(system, source.writeKey)) output.say(line);
  return problems.length === 0;
}

/** Lists missing or wrong deliveries, from the requests that arrived. */
function findProblems(receipts: Receipt[]): string[] {
  const problems: string[] = [];
  const forged = receipts.filter(
    ({ xSignatureOk, webhookSignatureOk }) => !xSignatureOk || !webhookSignatureOk,
  );
  if (forged.length > 0) {
    problems.push(`${String(forged.length)} with a signature that does not match`);
  }
  for (const type of Object.keys(CALLS)) {
    for (const path of PATHS) {
      const here = receipts.filter((receipt) => receipt.type === type && receipt.path === path);
      if (!here.some(({ answered }) => answered === 200)) {
        problems.push(`${type} did not arrive at ${path}`);
      }
    }
  }
  const retried = receipts.some(({ type, attempt }) => type === REFUSED_ONCE && attempt > 1);
  if (!retried) problems.push(`the refused ${REFUSED_ONCE} did not come back`);
  return problems;
}

function summary(receipts: Receipt[], problems: string[]): string[] {
  const verified = receipts.filter(
    (receipt) => receipt.xSignatureOk && receipt.webhookSignatureOk,
  ).length;
  const again = receipts.filter(({ attempt }) => attempt > 1).length;
  const count =
    `${String(receipts.length)} of ${String(EXPECTED)} POSTs arrived, ${String(verified)} ` +
    `with both signatures verified, ${String(again)} as a retry`;
  const verdict = problems.length === 0 ? paint('green', '✓') : paint('red', '✗');
  return ['', `  ${verdict} ${count}`, ...problems.map((problem) => `    ✗ ${problem}`)];
}

function howToGoOn(system: LocalSystem, writeKey: string): string[] {
  return [
    '',
    '  See all of it in the console:',
    '',
    `    open ${system.controlUrl} and sign in with ${system.adminToken}`,
    '',
    '  or in a second shell:',
    '',
    '    node cli/waypost.cjs deliveries',
    '',
    '  Send a call yourself, and watch it arrive here and there (Ctrl-C ends the demo):',
    '',
    `    curl -s ${system.ingestUrl}/v1/track -u '${writeKey}:' -H 'Content-Type: ` +
      `application/json' -d '{"userId":"user-1","event":"My Event"}'`,
    '',
  ];
}

/** Formats a POST that arrived as lines for people, all taken from the request itself. */
function printReceipt(receipt: Receipt): string[] {
  const { headers, body } = receipt;
  const again =
    receipt.attempt > 1
      ? paint('bold', `  came back: attempt ${String(receipt.attempt)}, same webhook-id`)
      : '';
  const answer =
    receipt.answered === 200
      ? 'answered 200'
      : paint('yellow', `answered ${String(receipt.answered)}, on purpose`);
  const shown = body.length > BODY_CHARACTERS ? `${body.slice(0, BODY_CHARACTERS)}…` : body;
  return [
    `  ${receipt.at.toISOString().slice(11, 23)}  ` +
      `${paint('bold', (receipt.type ?? '?').padEnd(8))} → ${receipt.path.padEnd(10)}  ` +
      `${answer}${again}`,
    `      webhook-id         ${text(headers['webhook-id'])}`,
    `      X-Signature        ${text(headers['x-signature'])}  ${mark(receipt.xSignatureOk)}`,
    `      webhook-signature  ${text(headers['webhook-signature'])}  ` +
      mark(receipt.webhookSignatureOk),
    paint('dim', `      ${shown}`),
  ];
}

function mark(ok: boolean): string {
  return ok ? paint('green', '✓ verified') : paint('red', '✗ does not match');
}

function text(header: string | string[] | undefined): string {
  return header === undefined ? '(none)' : String(header);
}

type Style = 'green' | 'red' | 'yellow' | 'bold' | 'dim';

/** Colours a text for a terminal, and leaves it unchanged elsewhere. */
function paint(style: Style, text: string): string {
  return process.stdout.isTTY && !process.env.NO_COLOR ? styleText(style, text) : text;
}
