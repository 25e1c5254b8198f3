import { type IncomingMessage } from 'node:http';
import { validateCalls, parseBody } from './calls/validate-request';
import { type Source } from '../../shared/model/config';
import { type ConfigReader } from '../../shared/config/types';
import { isFault, NO_FAULTS, type ParsedRequest, type RequestFault } from './calls/parse-batch';
import { type CallType } from '../../shared/model/message';
import { type RejectedCall } from '../../shared/model/rejected-calls';
import { type OutRecord } from '../../shared/kafka/port';
import { type HttpResponse, badRequest, refusal, refusalMessage, success } from './responses';
import { keyInText, namedKey, sourceInText, type Sources } from './write-key';
import { MAX_BODY_BYTES, type ReadBody, type RefusedBody } from './read-body';
import { excerptOf, withoutKey } from './calls/excerpt';
import { finish, type Steps } from './calls/steps';
import { toUtf8 } from './charset';
import { type Admission } from './admission';
import { LARGE_BODY_BYTES, type LargeBodies } from './large-bodies';
import {
  countByCode,
  type CountedFault,
  faultOfRefused,
  KAFKA_REFUSED,
  type LostBody,
  refusedRecord,
  rejectedRecords,
} from './rejected-records';
import { messageRecords, type Store } from './store-messages';
import { watchStored } from './telemetry';

/**
 * Handles a request and returns its response. It reports success only after Kafka acknowledged
 * every record of the request: its messages and its rejected calls. A call whose record Kafka
 * refuses for good is rejected too, because its client would send it again and again, with all
 * others of its batch. Rejected calls are lost only if Kafka refuses their topic.
 *
 * The checks are ordered by cost: the write key if it is named before the body, then the limits,
 * the body, its shape, and its calls. The handler holds neither the body nor parsed values while it
 * waits for Kafka.
 */

export interface RequestHandlerParts {
  config: Pick<ConfigReader, 'position'>;
  sources: Sources;
  readBody: ReadBody;
  admission: Admission;
  largeBodies: LargeBodies;
  store: Store;
  /** ms since 1970 */
  now: () => number;
  /** for calls without a `messageId` */
  makeId: () => string;
}

interface Received {
  req: IncomingMessage;
  kind: CallType | 'batch';
  /** the documented path, for traces */
  route: string;
  /** replaces the request's body */
  body?: Buffer | undefined;
}

/**
 * Throws neither for invalid requests nor while Kafka is unavailable. `gone`: the client has left
 * and needs no response.
 */
export type RequestHandler = (received: Received) => Promise<HttpResponse | 'gone'>;

/** Accepted and rejected calls that are not stored yet. */
interface Prepared {
  source: Source;
  messages: OutRecord[];
  /** of each message: which call of the request it is */
  indexes: readonly number[];
  rejectedCalls: readonly RejectedCall[];
  rejectedRecords: OutRecord[];
  /** what is not accepted */
  rejected: readonly Pick<CountedFault, 'code' | 'count'>[];
  /** the response once all is stored */
  response: HttpResponse;
  /** ms since 1970 */
  receivedAtMs: number;
  receivedSteadyMs: number;
}

export function createRequestHandler(parts: RequestHandlerParts): RequestHandler {
  return (received) => {
    const { req } = received;
    const startedAt = performance.now();
    const key = namedKey(req.headers.authorization, req.url ?? '');
    return withSource(parts, { req, key }, async (named) => {
      const limited = named && parts.admission.limited(named);
      const prepared = limited ?? (await prepare(parts, { ...received, key }, named));
      return isPrepared(prepared)
        ? storePrepared(parts, prepared, { req, route: received.route, startedAt })
        : prepared;
    });
  };
}

export interface WithSourceParts {
  sources: Sources;
  admission: Pick<Admission, 'enter' | 'leave' | 'isLimited' | 'searched' | 'refused'>;
}

/**
 * Works on a request once its write key is found, within the share of its source or its address.
 * Responds itself to a wrong key, which is searched at the pace of its address.
 * @param key undefined: the request names none before its body; `work` gets no source then
 */
export async function withSource<T>(
  { sources, admission }: WithSourceParts,
  { req, key }: { req: IncomingMessage; key: string | undefined },
  work: (source: Source | undefined) => T | Promise<T>,
): Promise<T | HttpResponse> {
  const known = key === undefined ? undefined : sources.known(key);
  const slot = admission.enter(req, known);
  if (slot === undefined) return refusal('overloaded');
  try {
    if (known || key === undefined) return await work(known);
    // Whether the address already had too many refusals. It is charged for the refresh of `config`.
    const limited = admission.isLimited(req);
    const found = await sources.find(key, limited);
    if (typeof found !== 'string') return await work(found);
    return limited && found !== 'config_unavailable'
      ? admission.searched(req)
      : admission.refused(req, refusal(found));
  } finally {
    admission.leave(slot);
  }
}

/** Returns the response: success once all is stored, a refusal at once. */
async function storePrepared(
  parts: RequestHandlerParts,
  prepared: Prepared,
  from: { req: IncomingMessage; route: string; startedAt: number },
): Promise<HttpResponse> {
  const { messages, rejected, rejectedRecords, response, receivedSteadyMs } = prepared;
  const storingAt = performance.now();
  const storing = parts
    .store({ messages, rejected: rejectedRecords, receivedSteadyMs })
    .then((result) => {
      const { failed, refused } = result;
      watchStored({ records: messages, refused: refused.size, rejected, failed, storingAt, from });
      return result;
    });
  // A body that cannot be read stays refused while Kafka is away: it would not be better later.
  // Until the answer, its rest is not discarded.
  if (response.status >= 400) return response;
  const { failed, refused } = await storing;
  if (failed) return refusal(failed);
  return refused.size === 0 ? response : rejectRefused(parts, prepared, [...refused.keys()]);
}

/** What a fault with an excerpt of its own needs of its request. */
const NOT_PARSED = { calls: [], faults: NO_FAULTS, type: undefined };

/** Rejects messages that Kafka refuses for good. @param refused their indexes */
async function rejectRefused(
  { admission, store }: RequestHandlerParts,
  prepared: Prepared,
  refused: readonly number[],
): Promise<HttpResponse> {
  const { source, messages, indexes, rejectedCalls, receivedAtMs, receivedSteadyMs } = prepared;
  const faults = refused.map((i) => faultOfRefused(messages[i]));
  const records = rejectedRecords(faults, NOT_PARSED, {
    source: source.id,
    atMs: receivedAtMs,
    oneByOne: admission.takeRejected(source, faults.length),
    key: undefined,
  });
  const { failed } = await store({ messages: [], rejected: finish(records), receivedSteadyMs });
  if (failed) return refusal(failed);
  const calls = refused.map((i): RejectedCall => ({ index: indexes[i] ?? 0, ...KAFKA_REFUSED }));
  return success([...rejectedCalls, ...calls].sort((a, b) => a.index - b.index));
}

function isPrepared(result: Prepared | HttpResponse | 'gone'): result is Prepared {
  return typeof result === 'object' && 'messages' in result;
}

/** A request, and the time when its body was read. */
interface Arrival {
  req: IncomingMessage;
  /** the write key that is named before the body */
  key: string | undefined;
  /** ms since 1970 */
  receivedAtMs: number;
  /** by `performance.now()` */
  receivedSteadyMs: number;
}

interface ReadRequest extends Arrival {
  kind: CallType | 'batch';
  body: Buffer;
  /** undefined: the body is UTF-8 */
  contentType: string | undefined;
}

/** A body whose source is not known yet. */
interface UnknownKey {
  writeKey: string | undefined;
  /** the body as UTF-8 */
  text: Buffer;
  /** the source that is charged for a refusal; undefined: the client's address is */
  charged: Source | undefined;
}

function isUnknownKey(decided: Prepared | HttpResponse | UnknownKey): decided is UnknownKey {
  return 'writeKey' in decided;
}

/** @param named the source whose key is named before the body */
async function prepare(
  parts: RequestHandlerParts,
  { req, key, kind, body: given }: Received & Pick<Arrival, 'key'>,
  named: Source | undefined,
): Promise<Prepared | HttpResponse | 'gone'> {
  const { admission } = parts;
  const body = given ?? (await parts.readBody(req, admission.bodyOwner(req, named)));
  if (body === 'gone') return body;
  if (typeof body === 'string') {
    return admission.faulty(req, refusal(body), { source: named, bytes: 0 });
  }
  const receivedAtMs = parts.now();
  const receivedSteadyMs = performance.now();
  if (!Buffer.isBuffer(body)) {
    return refuseUnread(parts, { req, key, receivedAtMs, receivedSteadyMs }, named, body);
  }
  const contentType = given ? undefined : req.headers['content-type'];
  const read = { req, key, kind, body, contentType, receivedAtMs, receivedSteadyMs };
  const decided = await workOn(parts, read, named, () => decide(parts, read, named));
  return isUnknownKey(decided) ? decideLater(parts, read, decided) : decided;
}

/** Works on a body: at once if it is small. */
async function workOn<T>(
  { admission, largeBodies }: RequestHandlerParts,
  read: ReadRequest,
  named: Source | undefined,
  work: () => Steps<T>,
): Promise<T | HttpResponse> {
  if (read.body.length < LARGE_BODY_BYTES) return finish(work());
  const result = await largeBodies.work(admission.bodyOwner(read.req, named), read, work);
  return result === 'overloaded' ? refusal('overloaded') : result;
}

/** Decides about the calls of a body, if the source of its write key is known. */
function* decide(
  parts: RequestHandlerParts,
  read: ReadRequest,
  named: Source | undefined,
): Steps<Prepared | HttpResponse | UnknownKey> {
  const { admission, sources } = parts;
  const { req, kind, body } = read;
  let source = named;
  // The body of a limited address is decoded only if it names a source.
  if (!source && admission.isLimited(req)) {
    source = sourceInText(body, sources);
    if (!source) return admission.searched(req);
  }
  // Other requests of this source may have used up its limit while the body came.
  const limited = source && admission.limited(source);
  if (limited) return limited;
  const text = toUtf8(body, read.contentType);
  yield;
  if (text.length > MAX_BODY_BYTES) {
    const refused: RefusedBody = { code: 'body_too_large', beginning: body, isCut: true };
    return refuseUnread(parts, read, source, refused, text);
  }
  const parsed = yield* parseBody(text, kind);
  return named
    ? yield* accept(parts, read, named, { text, parsed })
    : yield* decideByBody(parts, read, source, { text, parsed });
}

/**
 * Decides about a request whose write key can only be in the body.
 * @param charged the source that is charged for a refusal; undefined: the client's address is
 */
function* decideByBody(
  parts: RequestHandlerParts,
  read: ReadRequest,
  charged: Source | undefined,
  { text, parsed }: ParsedBody,
): Steps<Prepared | HttpResponse | UnknownKey> {
  const { admission, sources } = parts;
  if (isFault(parsed)) {
    // A key in the wrong place still names the source whose debugger shows the loss.
    const named = charged ?? sourceInText(text, sources);
    if (named) return admission.limited(named) ?? refuseBody(parts, read, named, parsed, text);
    const { callCount: calls } = parsed;
    return admission.faulty(read.req, badRequest(parsed), {
      source: charged,
      calls,
      bytes: text.length,
    });
  }
  const { writeKey } = parsed;
  const source = writeKey === undefined ? undefined : sources.known(writeKey);
  if (!source) return { writeKey, text, charged };
  return admission.limited(source) ?? (yield* accept(parts, read, source, { text, parsed }));
}

/**
 * Decides once `config` was read again, which takes up to two seconds. Parsed values take several
 * times the memory of the body, so they are made again.
 */
async function decideLater(
  parts: RequestHandlerParts,
  read: ReadRequest,
  { writeKey, text, charged }: UnknownKey,
): Promise<Prepared | HttpResponse> {
  const { admission, sources } = parts;
  const { req, kind } = read;
  const { shares, share } = admission.bodyOwner(req, undefined);
  if (!shares.take(share, text.length)) return refusal('overloaded');
  const source = await sources.find(writeKey, charged !== undefined);
  shares.give(share, text.length);
  if (typeof source === 'string') {
    return admission.faulty(req, refusal(source), { source: charged, bytes: text.length });
  }
  return workOn(parts, read, undefined, function* () {
    const limited = admission.limited(source);
    if (limited) return limited;
    const parsed = yield* parseBody(text, kind);
    return yield* accept(parts, read, source, { text, parsed });
  });
}

interface ParsedBody {
  /** the body as UTF-8 */
  text: Buffer;
  parsed: ParsedRequest | RequestFault;
}

function* accept(
  parts: RequestHandlerParts,
  read: ReadRequest,
  source: Source,
  { text, parsed }: ParsedBody,
): Steps<Prepared | HttpResponse> {
  const { receivedAtMs, receivedSteadyMs } = read;
  if (isFault(parsed)) return refuseBody(parts, read, source, parsed, text);
  parts.admission.take(source, parsed.callCount, text.length);
  const { accepted, rejected } = yield* validateCalls(parsed, {
    now: receivedAtMs,
    makeId: parts.makeId,
    isOwnKey: (key) => parts.sources.known(key)?.id === source.id,
  });
  const messages = yield* messageRecords(source.id, accepted, {
    acceptedAtMs: receivedAtMs,
    configPosition: parts.config.position,
  });
  const faults = [...rejected, ...parsed.lost];
  return {
    source,
    messages,
    indexes: accepted.map(({ index }) => index),
    rejectedCalls: rejected,
    rejectedRecords: yield* rejectedRecords(faults, parsed, {
      source: source.id,
      atMs: receivedAtMs,
      oneByOne: parts.admission.takeRejected(source, faults.length),
      key: read.key ?? parsed.writeKey,
    }),
    rejected: countByCode(faults),
    response: success(rejected),
    receivedAtMs,
    receivedSteadyMs,
  };
}

function refuseBody(
  parts: RequestHandlerParts,
  read: ReadRequest,
  source: Source,
  fault: RequestFault,
  text: Buffer,
): Prepared | HttpResponse {
  const lost = {
    code: fault.code === 'invalid_json' ? 'unreadable' : fault.code,
    message: fault.message,
    calls: fault.callCount ?? 1,
    excerpt: () =>
      withoutKey(excerptOf(text, 0, text.length), read.key ?? keyInText(text, parts.sources)),
  };
  return lose(parts, read, source, { ...lost, bytes: text.length, response: badRequest(fault) });
}

/**
 * Refuses a body that is too large, or that cannot be decoded.
 * @param named the source whose key is named before the body; else one of its beginning is searched
 * @param decoded its text, if that is known already
 */
function refuseUnread(
  parts: RequestHandlerParts,
  arrival: Arrival,
  named: Source | undefined,
  { code, beginning, isCut }: RefusedBody,
  decoded?: Buffer,
): Prepared | HttpResponse {
  const { admission, sources } = parts;
  const { req } = arrival;
  const bytes = beginning.length;
  const source = named ?? sourceInText(beginning, sources);
  if (!source) return admission.faulty(req, refusal(code), { source, bytes });
  const text = decoded ?? toUtf8(beginning, req.headers['content-type']);
  const lost = {
    code,
    message: refusalMessage(code),
    calls: 1,
    excerpt: () =>
      withoutKey(excerptOf(text, 0, text.length, isCut), arrival.key ?? keyInText(text, sources)),
  };
  return (
    admission.limited(source) ??
    lose(parts, arrival, source, { ...lost, bytes, response: refusal(code) })
  );
}

/**
 * Refuses a body of which no call can be read. Clients delete the calls of such a body, so that
 * only the debugger shows that they existed.
 */
function lose(
  { admission }: RequestHandlerParts,
  { req, receivedAtMs, receivedSteadyMs }: Arrival,
  source: Source,
  lost: LostBody & { bytes: number; response: HttpResponse },
): Prepared | HttpResponse {
  const { code, calls, bytes } = lost;
  const response = admission.faulty(req, lost.response, { source, calls, bytes });
  return {
    source,
    messages: [],
    indexes: [],
    rejectedCalls: [],
    rejectedRecords: [
      refusedRecord(lost, {
        source: source.id,
        atMs: receivedAtMs,
        isCountedOnly: admission.takeRejected(source, 1) === 0,
      }),
    ],
    rejected: [{ code, count: calls }],
    response,
    receivedAtMs,
    receivedSteadyMs,
  };
}
