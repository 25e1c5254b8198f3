import { type Operations } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { DELIVERY_STATUSES, isUnderWay } from '../../../shared/model/reasons';
import { isoOfLocal } from '../lib/labels';
import { text } from '../texts';

const words = text.replay.scope;

/** What a replay sends while the user chooses it, how fast, and the requests. Pure. */

type Body = Operations['POST /replays']['body'];

export interface Scope {
  destination: string;
  origin: 'dead_letters' | 'messages';
  /** in the format of `<input type="datetime-local">` */
  from: string;
  to: string;
  status: string;
  type: string;
  includeDelivered: boolean;
  onlyFailedUrls: boolean;
}

/** Deliveries per second, as the user types it. */
export const USUAL_RATE = '200';

export function scopeFor(destination: string): Scope {
  const rest = {
    from: '',
    to: '',
    status: '',
    type: '',
    includeDelivered: false,
  };
  return { destination, origin: 'dead_letters', onlyFailedUrls: false, ...rest };
}

/** Waypost does not replay a delivery that is in progress. */
export const REPLAYABLE = DELIVERY_STATUSES.filter((status) => !isUnderWay(status));

/** A dead letter has failed at all of its URLs, so a replay of some of them reads the messages. */
export function withFailedUrls(scope: Scope, onlyFailedUrls: boolean): Scope {
  return { ...scope, onlyFailedUrls, origin: onlyFailedUrls ? 'messages' : scope.origin };
}

export function scopeProblem(scope: Scope): string | undefined {
  if (scope.destination === '') return words.chooseDestination;
  const [from, to] = [isoOfLocal(scope.from), isoOfLocal(scope.to)];
  const isEmpty = from !== undefined && to !== undefined && from >= to;
  return isEmpty ? words.startBeforeEnd : undefined;
}

export function rateProblem(rate: string): string | undefined {
  const perSecond = Number(rate);
  return perSecond > 0 && perSecond <= 10_000 ? undefined : words.rateProblem;
}

/** Returns the request that counts what a replay would send. */
export function previewOf(scope: Scope): Body {
  return { ...bodyOf(scope), preview: true };
}

export function replayOf(scope: Scope, rate: string): Body {
  return { ...bodyOf(scope), maxPerSecond: Number(rate) };
}

function bodyOf(scope: Scope): Body {
  const [from, to] = [isoOfLocal(scope.from), isoOfLocal(scope.to)];
  return {
    destination: scope.destination,
    origin: scope.origin,
    ...defined({
      from,
      to,
      status: scope.status !== '' ? (scope.status as NonNullable<Body['status']>) : undefined,
      type: scope.type !== '' ? (scope.type as NonNullable<Body['type']>) : undefined,
      includeDelivered: scope.includeDelivered ? true : undefined,
      onlyFailedUrls: scope.onlyFailedUrls ? true : undefined,
    }),
  };
}
