import { type Endpoint } from '../destinations/endpoint';
import { type Budget, judgeResponse, type JudgedResponse } from '../http/judge-response';
import { type SendResult } from '../http/exchange';
import { type Signal } from '../lanes/job';
import { failedMembers } from './failed-members';

/** Judges the result of a batch for each of its deliveries and for the lane. Pure. */

export interface JudgedBatch {
  /** of the request */
  whole: JudgedResponse;
  /** true if it was rejected and has several deliveries, so that its halves follow */
  isHalved: boolean;
  /**
   * Returns the judgement of a delivery by its index in the batch. The first one has the response:
   * a copy for each would let an endpoint fill the disk by a hundred times what it sends.
   */
  ofMember: (index: number) => JudgedResponse;
  /**
   * a 2xx whose body may name failed deliveries, and cannot be read: the batch is sent once more
   */
  isUnreadable: boolean;
  /** a batch is one request to the lane */
  signal: Signal;
}

export function judgeBatch(
  endpoint: Endpoint,
  result: SendResult,
  { size, ...context }: { size: number; nowMs: number; budget: Budget; isTest: boolean },
): JudgedBatch {
  const whole = judgeResponse(endpoint, result, context);
  const named = new Map<number, JudgedResponse>();
  let isUnreadable = false;
  if (result.ok && whole.classification === 'delivered') {
    const failed = failedMembers(result.response, size);
    isUnreadable = failed === undefined;
    for (const [index, status] of failed ?? []) {
      named.set(index, judgeNamed(endpoint, result, status));
    }
  }
  if (isUnreadable) {
    whole.attempt.oddities = [...(whole.attempt.oddities ?? []), 'body_unreadable'];
    if (whole.signal.kind === 'ok') whole.signal = { kind: 'irregular' };
  }
  // The receiver asks not to get these messages again, or nothing more: it gets no halves either.
  const { asked, disables } = whole.says ?? {};
  const isFinal = asked !== undefined || disables !== undefined;
  if (isFinal) isUnreadable = false;
  const isHalved = result.ok && whole.classification === 'rejected' && size > 1 && !isFinal;
  return {
    whole,
    isHalved,
    ofMember: memberJudge(whole, named),
    isUnreadable,
    signal: signalOf(whole, named, size),
  };
}

/** Returns the judgements by index; `whole` holds for the deliveries that are not named. */
function memberJudge(
  whole: JudgedResponse,
  named: ReadonlyMap<number, JudgedResponse>,
): JudgedBatch['ofMember'] {
  const { response, ...attempt } = whole.attempt;
  const unnamed = { ...whole, attempt };
  return (index) => {
    const judged = named.get(index) ?? unnamed;
    if (index > 0 || response === undefined) return judged;
    return { ...judged, attempt: { ...judged.attempt, response } };
  };
}

/** A member has no response of its own to store: nothing is charged. */
const UNCHARGED: Budget = { takes: () => true };

/** Judges a delivery as if it had been answered with this status alone. */
function judgeNamed(
  endpoint: Endpoint,
  result: SendResult & { ok: true },
  status: number,
): JudgedResponse {
  const alone = { status, headers: {}, body: Buffer.alloc(0), truncated: false };
  // A 410 is then about the delivery: the receiver has just accepted others at this URL.
  const { says: _says, ...judged } = judgeResponse(
    endpoint,
    { ...result, response: alone },
    {
      nowMs: 0,
      budget: UNCHARGED,
      isTest: false,
    },
  );
  const { response: _response, ...attempt } = judged.attempt;
  return { ...judged, attempt };
}

/** A 2xx for any delivery shows that the endpoint works. */
function signalOf(
  whole: JudgedResponse,
  named: ReadonlyMap<number, JudgedResponse>,
  size: number,
): Signal {
  const troubled = [...named.values()]
    .map(({ signal }) => signal)
    .filter(({ kind }) => kind !== 'ok' && kind !== 'irregular');
  return troubled.length === size ? (troubled[0] ?? whole.signal) : whole.signal;
}
