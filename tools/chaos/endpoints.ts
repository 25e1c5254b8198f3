import { freePort } from '../../test/support/free-port';
import { type Answer } from '../harness/respond';
import { type Sink, startSink } from '../harness/sink';
import { type Role, ROLES } from './scenario';
import { type Random } from '../harness/random';
import { Receipts } from './receipts';
import { DeletedUserCalls, type UserCall } from '../harness/deleted-users';
import { type Breach, StandingInvariants } from '../harness/standing-invariants';

/** The endpoints of the scenario, on real sockets. */
export interface Endpoints {
  url(role: Role): string;
  receipts: Record<Role, Receipts>;
  /** endpoints with at least one request */
  met: ReadonlySet<Role>;
  /** what the endpoints see of the standing invariants */
  invariants: StandingInvariants;
  /** what they see of the users who are deleted */
  users: DeletedUserCalls;
  breaches: readonly Breach[];
  /** when each delivery last came to an endpoint that answers nothing, ms since 1970 */
  lastAsked: Record<Role, ReadonlyMap<string, number>>;
  /** The gone endpoint answers 410 from now on. */
  goneNow(): void;
  /** Closes the mended endpoint's port until it is opened again. */
  mendedDown(): Promise<void>;
  mendedUp(): Promise<void>;
  close(): Promise<void>;
}

const SLOW_MS = 300;
const FAILING_SHARE = 0.3;
const RESET_SHARE = 0.5;
const THROTTLED_SHARE = 0.3;
const RETRY_AFTER_S = 2;
/** A request that has begun comes this much later on a busy machine. */
const WIRE_MS = 1_000;
/** A request that was signed longer ago was signed by a wrong clock. */
const LONGEST_UNDER_WAY_MS = 10_000;
/** Interval at which the sinks forget their requests: only the receipts count. */
const FORGET_MS = 500;

export async function openEndpoints(random: Random): Promise<Endpoints> {
  const receipts = Object.fromEntries(ROLES.map((role) => [role, new Receipts()])) as Record<
    Role,
    Receipts
  >;
  const lastAsked = Object.fromEntries(
    ROLES.map((role) => [role, new Map<string, number>()]),
  ) as Record<Role, Map<string, number>>;
  const met = new Set<Role>();
  let isGone = false;
  const breaches: Breach[] = [];
  const invariants = new StandingInvariants((breach) => breaches.push(breach));
  const users = new DeletedUserCalls(WIRE_MS);
  const watch = (role: Role, delivery: string, body: Buffer, answer: Answer) => {
    const request = { delivery, url: role };
    const { delayMs = 0, headers = {}, misbehave } = answer;
    const cameAt = Date.now();
    lastAsked[role].set(delivery, cameAt);
    invariants.began(request, cameAt);
    const broken = users.began(userCallOf(body), role, cameAt);
    if (broken) {
      const none = { previousAt: -Infinity, notBefore: -Infinity };
      breaches.push({ what: broken, ...request, ...none, atMs: cameAt });
    }
    // The sender ends the others, and when is not seen here.
    if (delayMs === 0 || misbehave) {
      const askedMs = Number(headers['retry-after'] ?? 0) * 1_000;
      invariants.ended(request, askedMs > 0 ? cameAt + askedMs : undefined);
      if (askedMs === 0) invariants.forget(delivery);
      return;
    }
    setTimeout(() => {
      invariants.ended(request);
      invariants.forget(delivery);
    }, delayMs);
  };
  const behave = (sink: Sink, role: Role) =>
    sink.on(`/${role}`, ({ headers, body }) => {
      met.add(role);
      const answer = role === 'gone' && isGone ? { status: 410 } : answerOf(role, random);
      watch(role, headers['webhook-id'] ?? '', body, answer);
      if ((answer.status ?? 200) < 300 && !answer.misbehave) {
        receipts[role].take(
          headers['webhook-id'] ?? '',
          sentAt(headers['webhook-timestamp'], Date.now()),
        );
      }
      return answer;
    });
  const sink = await startSink();
  // Its port is free for a while, in which no outgoing connection may take it.
  const port = await freePort();
  let mended = await startSink({ port });
  for (const role of ROLES) behave(role === 'mended' ? mended : sink, role);
  const forget = setInterval(() => {
    for (const { requests } of [sink, mended]) requests.length = 0;
  }, FORGET_MS);
  const mendedUrl = mended.url('/mended');

  return {
    url: (role) => (role === 'mended' ? mendedUrl : sink.url(`/${role}`)),
    receipts,
    met,
    invariants,
    users,
    breaches,
    lastAsked,
    goneNow: () => {
      isGone = true;
    },
    mendedDown: () => mended.close(),
    mendedUp: async () => {
      mended = await startSink({ port });
      behave(mended, 'mended');
    },
    close: async () => {
      clearInterval(forget);
      await Promise.all([sink.close(), mended.close()]);
    },
  };
}

/**
 * Returns the send time, to a second, and never later than the arrival: a busy machine may handle a
 * request long after its sender has timed out.
 */
function sentAt(timestampS: string | undefined, cameAt: number): number {
  const signedAt = Number(timestampS) * 1_000 + 999;
  return cameAt - signedAt > LONGEST_UNDER_WAY_MS ? cameAt : Math.min(cameAt, signedAt);
}

/** Ingest sets the time of calls that have none. */
function userCallOf(body: Buffer): UserCall {
  const call = JSON.parse(body.toString()) as Record<string, string | undefined>;
  return {
    user: call.userId ?? call['User ID'] ?? '',
    acceptedAt: Date.parse(call.timestamp ?? ''),
    isDelete: call.type === 'delete',
  };
}

function answerOf(role: Role, random: Random): Answer {
  switch (role) {
    case 'steady':
    case 'mended':
      return {};
    case 'slow':
      return { delayMs: SLOW_MS };
    case 'failing':
      return random.next() < FAILING_SHARE ? { status: 503 } : {};
    case 'resetting':
      return random.next() < RESET_SHARE ? { misbehave: 'reset' } : {};
    case 'rejecting':
      return { status: 422 };
    case 'gone':
      return {};
    case 'throttled':
      return random.next() < THROTTLED_SHARE
        ? { status: 429, headers: { 'retry-after': String(RETRY_AFTER_S) } }
        : {};
    case 'hanging':
    case 'leaving':
      return { misbehave: 'hang' };
  }
}
