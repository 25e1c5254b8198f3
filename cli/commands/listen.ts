import { randomBytes } from 'node:crypto';
import { type Destination } from '../../shared/api/operations';
import { curlOf } from '../../shared/model/curl';
import { prepareSecrets, type PreparedSecrets } from '../../shared/model/sign';
import { printableJson } from '../../shared/runtime/printable';
import { type Group, type Listed, type Session, whole } from '../command';
import { find } from '../entries';
import { parseHeaders } from '../headers';
import { follow } from '../listen/follow';
import { Forwarder } from '../listen/forward';
import { Recent } from '../listen/recent';
import { Keys, KEYS_HELP } from '../listen/keys';
import { Report } from '../listen/report';
import { clipboard, readKeys } from '../listen/terminal';
import { choose } from '../listen/choose-events';
import { parseTarget } from '../listen/target';
import { readInput, readSecretFile } from '../secret-input';
import { CliError, FAILED, usage } from '../process-context';

/**
 * `waypost listen`: forwards the live events of a destination or a source to a local server. It
 * reads the stream of the debugger and not Kafka, so it needs a token and no broker. No API shows a
 * stored secret, so it signs with one that you give, or makes one for the run.
 */

interface ListenOptions {
  to?: string;
  source?: string;
  replay?: string;
  secretFile?: string;
  headersFile?: string;
  concurrency?: string;
  quiet?: boolean;
}

/**
 * Same timeout as in production. The router remembers two million ids; a terminal needs only the
 * latest.
 */
const TIMEOUT_MS = 5_000;
const MESSAGES_KNOWN = 100_000;
/** Time that Ctrl-C waits for responses. */
const END_MS = 5_000;

export function addListen(program: Group, { syntax, summary }: Listed): void {
  program.leaf<ListenOptions>(
    syntax,
    {
      summary,
      example: 'listen "My hook" --to 3000/hook --secret-file secret.txt --replay 10',
      options: [
        ['--to <target>', 'port or address, such as 3000 or http://localhost:3000/hook (required)'],
        [
          '--source <source>',
          'forward the events of this source, without the rules of a destination',
        ],
        ['--replay <n>', 'first forward this number of past events of each source'],
        [
          '--secret-file <file>',
          'sign with this shared secret; - for standard input. Or set WAYPOST_SHARED_SECRET',
        ],
        ['--headers-file <file>', 'static headers, one "Name: value" per line'],
        ['--concurrency <n>', 'concurrent requests (default 8)'],
        ['--quiet', 'show only events without a 2xx response'],
      ],
      more:
        'At a terminal, keys send the newest or a chosen event again, inspect it, or copy it ' +
        'as curl; ? lists them.\n\nProduction deliveries are not affected. Bodies and ' +
        'webhook-id are the same as in production. Stored secrets cannot be\nread: without ' +
        '--secret-file, the command generates a secret for this run and shows it.',
    },
    listen,
  );
}

async function listen(session: Session, options: ListenOptions, name?: string): Promise<number> {
  const { world, print } = session;
  if (options.to === undefined) throw usage('--to is required, for example --to 3000/hook.');
  const target = parseTarget(options.to);
  const numbers = numbersOf(options);
  const { destination, sources } = await listenedTo(session, name, options);
  const report = new Report(print, options.quiet ?? false);
  const secrets = await secretsOf(session, options, destination);
  const headers =
    options.headersFile === undefined
      ? {}
      : parseHeaders(await readInput(world, options.headersFile));
  sayOfHeaders(session, destination, headers);
  const forwarder = new Forwarder({
    target,
    secrets,
    headers,
    timeoutMs: TIMEOUT_MS,
    concurrency: numbers.concurrency,
    onAnswer: (forward, answer) => {
      report.answered(forward, answer);
      keys.answered(forward, answer);
    },
    onAway: (why) => report.away(why, target.origin),
  });
  const ended = new AbortController();
  const stop = AbortSignal.any([world.stop, ended.signal]);
  const keys = keysOf(session, { forwarder, report, target, stop: () => ended.abort() });
  // An option may read a file from standard input.
  const isInput = [options.secretFile, options.headersFile].includes('-');
  const hasKeys = !print.json && !isInput && readKeys(world.stdin, (key) => keys.press(key), stop);
  const messages = new Recent(MESSAGES_KNOWN);
  const isNew = (source: string, message: string) => messages.add(`${source} ${message}`);
  const what = destination ? `destination "${destination.name}"` : 'the source';
  let notReady = sources.length;
  const one = (source: string) =>
    follow({
      api: session.api(),
      query: { source, accepted: 'true' as const },
      replay: numbers.replay,
      stop,
      onReady: () => {
        if (--notReady > 0) return;
        print.note(`Listening to ${what}; forwarding to ${target.href}. Press Ctrl-C to stop.`);
        if (hasKeys) print.note(KEYS_HELP);
      },
      onEvent: (event) => {
        report.counts.received++;
        const choice = choose(event, { destination, isNew });
        if (choice.kind === 'left_out') report.leftOut(choice.why);
        else if (!forwarder.offer(choice.forward)) report.dropped();
      },
      onGap: (atLeast) => report.missed(atLeast),
      onAway: (why) => report.stream(why),
      onBack: () => report.stream(undefined),
    });
  // If one of several sources cannot continue, all end: a partial stream would look complete.
  const failure = await Promise.all(sources.map(one)).then(
    () => undefined,
    (error: unknown) => error,
  );
  ended.abort();
  report.end(await forwarder.close(END_MS));
  if (failure !== undefined) throw failure as Error;
  const { dropped, missed } = report.counts;
  return dropped + missed > 0 ? FAILED : 0;
}

interface Keyed {
  forwarder: Forwarder;
  report: Report;
  target: URL;
  stop: () => void;
}

function keysOf({ world, print }: Session, { forwarder, report, target, stop }: Keyed): Keys {
  return new Keys({
    retry: ({ forward }) => {
      print.note(`Sending ${forward.id} again.`);
      if (!forwarder.offer(forward)) report.dropped();
    },
    inspect: ({ forward, answer }) =>
      report.inspected(forward, answer, forwarder.headersOf(forward)),
    copy: ({ forward }) => {
      const request = { method: 'POST', url: target.href, headers: forwarder.headersOf(forward) };
      const curl = curlOf({ ...request, body: forward.body.toString() });
      world.err(`${clipboard(curl)}${printableJson(curl)}\n`);
      print.note('Copied, if your terminal allows it.');
    },
    selected: ({ forward }) => report.selected(forward),
    help: () => print.note(KEYS_HELP),
    stop,
  });
}

function numbersOf({ replay, concurrency }: ListenOptions) {
  return {
    replay: whole(replay ?? '0', '--replay', [0, 500]),
    concurrency: whole(concurrency ?? '8', '--concurrency', [1, 256]),
  };
}

async function listenedTo(
  session: Session,
  name: string | undefined,
  { source }: ListenOptions,
): Promise<{ destination: Destination | undefined; sources: string[] }> {
  if ((name === undefined) === (source === undefined)) {
    throw usage(
      'Give a destination or a source: waypost listen "My hook" --to 3000, or waypost ' +
        'listen --source "My site" --to 3000.',
    );
  }
  if (source !== undefined) {
    return { destination: undefined, sources: [(await find(session.api(), 'source', source)).id] };
  }
  const destination = await find(session.api(), 'destination', name ?? '');
  if (destination.sources.length === 0) {
    throw new CliError(
      `Destination "${destination.name}" is not connected to a source and receives no ` +
        `events. Connect one with \`waypost destinations edit\`.`,
    );
  }
  return { destination, sources: destination.sources };
}

async function secretsOf(
  { world, print }: Session,
  { secretFile }: ListenOptions,
  destination: Destination | undefined,
): Promise<PreparedSecrets | undefined> {
  const given =
    secretFile === undefined
      ? world.env.WAYPOST_SHARED_SECRET
      : await readSecretFile(world, secretFile);
  if (given) return prepareSecrets({ current: given });
  if (destination && !destination.hasSharedSecret) return undefined;
  const made = `whsec_${randomBytes(32).toString('base64')}`;
  print.note(`Signing with a secret generated for this run: ${made}`);
  return prepareSecrets({ current: made });
}

function sayOfHeaders(
  { print }: Session,
  destination: Destination | undefined,
  given: Record<string, string>,
): void {
  const have = new Set(Object.keys(given).map((header) => header.toLowerCase()));
  const stored = new Set(
    destination?.webhooks.flatMap(({ headers }) => Object.keys(headers)) ?? [],
  );
  const missing = [...stored].filter((header) => !have.has(header.toLowerCase()));
  if (missing.length > 0) {
    print.note(
      `Omitted, because stored values cannot be read: ${missing.join(', ')}. Set them with ` +
        '--headers-file.',
    );
  }
}
