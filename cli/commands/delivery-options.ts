import { type Destination, type Operations } from '../../shared/api/operations';
import { defined } from '../../shared/collections/defined';
import { listOf, type Session, whole } from '../command';
import { CliError, usage } from '../process-context';
import { readSecretFile } from '../secret-input';

/** The options for batches, the retry plan and the proxy of a destination. */

type Change = Pick<Operations['PATCH /destinations/{id}']['body'], 'batch' | 'retry' | 'proxy'>;
type Plan = { [Part in 'delays' | 'window' | 'timeout' | 'on']?: unknown };

export interface DeliveryOptions {
  batch?: string;
  retryDelays?: string;
  retryWindow?: string;
  retryOn?: string;
  timeout?: string;
  proxy?: string;
  proxyFile?: string;
}

/** Returns to the value of the settings. */
const DEFAULT = 'default';

export const DELIVERY_EDITS: [string, string][] = [
  [
    '--batch <limits>',
    'events of one request, wait and bytes, such as 50,1s or 50,1s,500000; 0 for single events',
  ],
  ['--retry-delays <delays>', `delays between attempts, such as 10s,1m,2h, or ${DEFAULT}`],
  [
    '--retry-window <duration>',
    `time after which deliveries are given up, 1m to 72h, or ${DEFAULT}`,
  ],
  ['--retry-on <statuses>', 'further statuses that are retried, such as 404,409, or none'],
  ['--timeout <duration>', `time for one request, 1s to 30s, or ${DEFAULT}`],
  ['--proxy <url>', `egress proxy: http://host:port, socks5://host:port, none or ${DEFAULT}`],
  ['--proxy-file <file>', 'the same with user:password@ before the host; - for standard input'],
];

/** @throws CliError */
export async function deliveryFieldsOf(
  { world }: Session,
  options: DeliveryOptions,
): Promise<Change> {
  const { batch, retryDelays, retryWindow, retryOn, timeout, proxyFile } = options;
  const plan: Plan = defined({
    delays:
      retryDelays !== undefined
        ? retryDelays === DEFAULT
          ? null
          : listOf(retryDelays)
        : undefined,
    window: retryWindow !== undefined ? orNull(retryWindow) : undefined,
    timeout: timeout !== undefined ? orNull(timeout) : undefined,
    on: retryOn !== undefined ? statusesOf(retryOn) : undefined,
  });
  const proxy =
    proxyFile === undefined ? withoutLogin(options.proxy) : await readSecretFile(world, proxyFile);
  return defined({
    batch: batch !== undefined ? batchOf(batch) : undefined,

    // A merge patch removes the parts that are null, which the type of a creation does not allow.
    retry: Object.keys(plan).length > 0 ? (plan as NonNullable<Change['retry']>) : undefined,
    proxy: proxy !== undefined ? orNull(proxy) : undefined,
  });
}

/**
 * `***` is the login that the API shows and keeps. @throws CliError if the argument contains
 * another one
 */
function withoutLogin(proxy: string | undefined): string | undefined {
  const [, login] = /^[^/]*:\/\/([^/]*)@/.exec(proxy ?? '') ?? [];
  if (login === undefined || login === '***') return proxy;
  throw usage(
    '--proxy must not contain a user name or password, which `ps` shows. Give it with --proxy-file.',
  );
}

/** Lists batches, plan and proxy for `Printer.thing`. */
export function deliveryLines({
  batch,
  retry,
  proxy,
}: Destination): [string, string | undefined][] {
  const { delays, effectiveDelays, window, timeout, on } = retry ?? {};
  return [
    [
      'batch',
      batch
        ? `${batch.maxEvents} events, ${batch.maxBytes} bytes, after ${batch.maxWait}`
        : undefined,
    ],
    [
      'delays',
      delays && effectiveDelays
        ? `${delays.join(' ')} (takes ${effectiveDelays.join(' ')})`
        : undefined,
    ],
    ['window', window ?? undefined],
    ['timeout', timeout ?? undefined],
    ['retried too', on?.join(' ')],
    ['proxy', proxy ?? undefined],
  ];
}

function batchOf(text: string): Change['batch'] {
  const [events = '', maxWait, bytes, ...more] = listOf(text);
  if (more.length > 0) throw new CliError('--batch has three parts at most: events, wait, bytes.');
  const maxEvents = whole(events, '--batch', [0, 100]);
  if (maxEvents === 0) return null;
  return {
    maxEvents,
    ...defined({
      maxWait,
      maxBytes: bytes !== undefined ? whole(bytes, '--batch', [1, 5_000_000]) : undefined,
    }),
  };
}

function orNull(text: string): string | null {
  return text === DEFAULT ? null : text;
}

function statusesOf(text: string): number[] | null {
  return text === 'none'
    ? null
    : listOf(text).map((status) => whole(status, '--retry-on', [300, 599]));
}
