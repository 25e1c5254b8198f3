import { compact } from '../../../shared/collections/defined';
import { WAYPOST } from '../auth/identities';
import { isLasting, newNotice, type Notice } from './notice';
import { COUNTED_KINDS, judge, type Judgement, type Trouble, type World } from './troubles';

/**
 * Decides which notices begin and end with the troubles of a moment, and which alerts are due.
 * Pure.
 */

export interface EndedNotice
  extends Pick<Notice, 'id' | 'alert'>, Partial<Pick<Notice, 'closed' | 'acknowledged'>> {
  endedAt: number;
  followedBy: string | null;
}

export type DueNotice = Pick<Notice, 'id' | 'failures' | 'error'>;

export interface Decision extends Pick<Judgement, 'health' | 'switchOff'> {
  raised: Notice[];
  ended: EndedNotice[];
  /** earlier notices whose alert is due now, with what it says */
  due: DueNotice[];
  /** ids of the destinations that anything of this is about */
  destinationIds: string[];
}

function isCounted({ kind }: Pick<Notice, 'kind'>): boolean {
  return (COUNTED_KINDS as readonly string[]).includes(kind);
}

export function decide(world: World): Decision {
  const { troubles, health, switchOff } = judge(world);
  const goingOn = troubles.filter(({ endedAt = null }) => endedAt === null);
  const raised = troubles.flatMap((trouble) => noticeOf(trouble, world.nowMs));
  const open = new Set(goingOn.map(({ openNotice }) => openNotice?.id));
  const over = world.notices.filter(({ id, endedAt }) => endedAt === null && !open.has(id));
  const due = goingOn.flatMap(({ openNotice, isEarly, error, failures = 0 }) =>
    openNotice?.alert === 'later' && isEarly !== true ? [{ ...openNotice, error, failures }] : [],
  );
  const concerned = [...raised, ...over, ...due].map(({ destination }) => destination);
  return {
    health,
    switchOff,
    raised,
    ended: over.map((notice) => endOf(notice, { troubles, raised, world })),
    due: due.map(({ id, failures, error }) => ({ id, failures, error })),
    destinationIds: [...new Set([...health.keys(), ...switchOff, ...concerned])],
  };
}

/** Returns a world without the destinations that nothing is to be decided about: nearly all. */
export function onlyAbout(ids: readonly string[], world: World): World {
  const wanted = new Set(ids);
  const get = (id: string) => world.destinations.get(id);
  return {
    ...world,
    destinations: { get, all: () => compact(ids.map(get)) },
    health: new Map([...world.health].filter(([id]) => wanted.has(id))),
    // A notice about no destination is about all of them.
    notices: world.notices.filter(({ destination: id }) => id === '' || wanted.has(id)),
  };
}

/** Returns the notice of a trouble that nobody was told of, or of a recovery; else none. */
function noticeOf({ openNotice, isEarly = false, ...trouble }: Trouble, nowMs: number): Notice[] {
  if (openNotice) {
    const { destination, name, origin = null, since, endedAt = null } = trouble;
    if (endedAt === null) return [];
    const recovered = newNotice(
      { kind: 'recovered', destination, name, origin, since, endedAt, at: nowMs, error: null },
      since,
    );
    // Nobody who gets alerts has heard of the failure.
    return [openNotice.alert === 'later' ? { ...recovered, alert: 'none' } : recovered];
  }
  const { kind, since, webhook = null, origin = null } = trouble;
  // Several URLs, or servers, of a destination may be in the same trouble at once.
  const where = kind === 'certificate_expiring' ? origin : webhook;
  const begun = where === null ? since : `${where}/${String(since)}`;
  // Dead letters with the same start may appear in two alerts.
  const notice = newNotice({ ...trouble, at: nowMs }, isCounted(trouble) ? nowMs : begun);
  return [isEarly && notice.alert === 'due' ? { ...notice, alert: 'later' } : notice];
}

interface EndContext {
  troubles: readonly Trouble[];
  raised: readonly Notice[];
  world: World;
}

/**
 * Says how a notice ends, and whether a second alert tells the end. An alert for which it was too
 * early is never sent.
 */
function endOf(notice: Notice, { troubles, raised, world }: EndContext): EndedNotice {
  const { id, kind, alert, destination } = notice;
  const recovered = troubles.find(({ openNotice }) => openNotice?.id === id);
  const later = raised.find((each) => each.kind === kind && each.destination === destination);
  const end = { id, endedAt: recovered?.endedAt ?? world.nowMs, followedBy: null };
  if (isCounted(notice)) {
    // The new one counts all that this one counted.
    const by = { id: WAYPOST.id, name: WAYPOST.name };
    return later
      ? { ...end, alert, followedBy: later.id, acknowledged: { at: world.nowMs, by } }
      : { ...end, alert };
  }
  if (isLasting(notice)) {
    const isTold = isMended(notice, world) ? 'due' : 'sent';
    return { ...end, alert: alert === 'sent' ? isTold : 'none' };
  }
  // The notice of the recovery, or of the switch-off, is the second alert.
  const hasOther = raised.some(
    (each) => each.destination === destination && each.kind === 'switched_off',
  );
  const kept = alert === 'later' ? 'none' : alert;
  if (recovered || hasOther) return { ...end, alert: kept };
  // Its first alert may still be due. Kafka may have that already, so only the second one is sent.
  return { ...end, alert: alert === 'sent' ? 'due' : kept, closed: true };
}

/**
 * Returns false if the destination is off or deleted, or no longer calls the server that the notice
 * is about: nobody mended the trouble, so an alert of its end would be wrong.
 */
function isMended(
  { kind, destination: id, origin, webhook }: Notice,
  { destinations }: World,
): boolean {
  if (kind === 'profile_full') return true;
  const destination = destinations.get(id);
  if (!destination?.enabled) return false;
  if (kind === 'webhook_disabled') return destination.webhooks.some((each) => each.id === webhook);
  if (kind !== 'certificate_expiring') return true;
  return destination.webhooks.some(
    (each) =>
      each.origin === origin || (each.auth?.type === 'oauth2' && each.auth.tokenOrigin === origin),
  );
}
