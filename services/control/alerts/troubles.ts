import { defined } from '../../../shared/collections/defined';
import { groupBy } from '../../../shared/collections/group-by';
import { filterDigest, type FilterEvent } from '../../../shared/model/attempt-events';
import {
  ALERTS_ID,
  type AlertSettings,
  type Destination,
  type EncryptedWebhook,
} from '../../../shared/model/config';
import { tlsEnds } from '../destinations/certificates';
import { type Health, outageOf, unknownHealth } from '../health/destination-health';
import { certificateEnds, type Fact } from '../health/facts';
import { type Notice } from './notice';

/**
 * Decides what is wrong at a moment: one list of troubles, each with its beginning, its end and a
 * text. Pure. Notices, alerts and the state `failing` of a destination show this list.
 *
 * | Trouble                | begins                                | ends                         |
 * | ---------------------- | ------------------------------------- | ---------------------------- |
 * | `failing`              | it failed or could not send for 5 min | a success, or it is off      |
 * | `dead_letters`         | one, if the last notice is old enough | none left, or a newer notice |
 * | `partly_delivered`     | likewise, delivered to some URLs only | likewise                     |
 * | `switched_off`         | it failed for `switchOffAfter`        | once Waypost switched it off |
 * | `certificate_expiring` | two weeks before the end              | another certificate in use   |
 * | `filter_costly`        | a message took much work              | none in a day, or new filter |
 * | `webhook_disabled`     | its receiver wants nothing more       | the URL is on again, or gone |
 * | `profile_full`         | a profile is full                     | none is                      |
 *
 * The time of a failure counts up to the last one, and up to now while an announced attempt is
 * still to come. One failure counts only in the latter case, and switches nothing off. Deliveries
 * that nothing could be sent for, for example without a token, count likewise until their window
 * ends, if something still waits. They switch nothing off.
 */

/** Times are ms since 1970. */
export type Trouble = Pick<Notice, 'kind' | 'destination' | 'name' | 'since' | 'error'> &
  Partial<Notice> & {
    /** the open notice about it; absent: none */
    openNotice?: Notice;
    /** it is too early for an alert */
    isEarly?: boolean;
  };

export interface World {
  nowMs: number;
  settings: AlertSettings;
  destinations: {
    get(id: string): Destination | undefined;
    all(): readonly Destination[];
  };
  /** of the destinations with trouble */
  health: ReadonlyMap<string, Health>;
  facts: readonly Fact[];
  /** users whose profiles are full; undefined: not known yet */
  fullProfiles: number | undefined;
  /** all that are open, and those of counted kinds within `deadLettersEvery` */
  notices: readonly Notice[];
  /** by destination; undefined: the history was not asked, or is behind */
  counts: ReadonlyMap<string, Counts> | undefined;
  /** ids of open notices that nothing is left of; undefined: likewise */
  over: ReadonlySet<string> | undefined;
}

/** Numbers of deliveries of a destination. */
export interface Counts {
  waiting: number;
  /** of those whose dead letters were not reported, the ones that are still dead */
  stillDead: number;
  /** of those likewise, the ones that some URL still lacks */
  stillPartly: number;
}

export interface Judgement {
  troubles: Trouble[];
  /** what is known of the destinations from now on, as far as it differs */
  health: Map<string, Health>;
  switchOff: string[];
}

export function judge(world: World): Judgement {
  const { destinations, health, notices, nowMs } = world;
  const noticesOf = groupBy(notices, ({ destination }) => destination);
  const found: Judgement = { troubles: [], health: new Map(), switchOff: [] };
  for (const id of new Set([...health.keys(), ...noticesOf.keys()])) {
    const before = health.get(id);
    const judged = {
      id,
      world,
      destination: destinations.get(id),
      notices: noticesOf.get(id) ?? [],
    };
    const { troubles, after, switchOff } = judgeHealth(before ?? unknownHealth(), judged);
    found.troubles.push(...troubles);
    if (switchOff) found.switchOff.push(id);
    if (before && JSON.stringify(before) !== JSON.stringify(after)) found.health.set(id, after);
  }
  const ends = certificateEnds(world.facts, nowMs);
  const filters = filtersIn(world.facts);
  for (const destination of destinations.all()) {
    if (!destination.enabled) continue;
    const open = noticesOf.get(destination.id)?.filter(isOpen) ?? NONE;
    found.troubles.push(
      ...expiring(destination, open, ends, nowMs),
      ...costly(destination, open, filters.get(destination.id), nowMs),
      ...disabledBy(destination, open),
    );
  }
  found.troubles.push(...full(world, noticesOf.get('')?.filter(isOpen) ?? NONE));
  return found;
}

/** There may be ten thousands of destinations, and nearly all have no trouble. */
const NONE: readonly Notice[] = [];

function isOpen({ endedAt }: Notice): boolean {
  return endedAt === null;
}

interface JudgedDestination {
  id: string;
  /** undefined: deleted */
  destination: Destination | undefined;
  notices: readonly Notice[];
  world: World;
}

/**
 * The console shows a failing endpoint after this time, or after `failingFor` if that is shorter:
 * whoever looks wants to know early, and whoever is woken does not.
 */
const SHOWN_AFTER_MS = 5 * 60_000;
/** Without an announced attempt that may show the opposite soon, one failure shows nothing. */
const LEAST_FAILURES = 2;

function judgeHealth(
  before: Health,
  judged: JudgedDestination,
): { troubles: Trouble[]; after: Health; switchOff: boolean } {
  const { id, destination, world } = judged;
  const after = { ...before };
  let troubles: Trouble[];
  if (destination?.enabled) {
    // A cancellation ends a wait without evidence.
    if (world.counts?.get(id)?.waiting === 0) delete after.blocked;
    troubles = failing(after, judged);
    after.switchingOff = reasonToSwitchOff(after, destination, world);
  } else {
    troubles = switchedOff(before, judged);
    // Failures count from the beginning once somebody switches it on again.
    Object.assign(after, { failures: [], awaitedUntil: 0, switchingOff: null });
    delete after.blocked;
    if (!destination) Object.assign(after, { dead: null, partly: null });
  }
  troubles.push(...COUNTED_KINDS.flatMap((kind) => counted(kind, after, judged)));
  return {
    troubles,
    after,
    switchOff: destination?.enabled === true && after.switchingOff !== null,
  };
}

function failing(health: Health, judged: JudgedDestination): Trouble[] {
  const { settings, nowMs } = judged.world;
  const openNotice = judged.notices.find((notice) => notice.kind === 'failing' && isOpen(notice));
  const { successAt } = health;
  const isOver = openNotice !== undefined && successAt !== null && successAt > openNotice.since;
  const outage = shownBy(health, nowMs);
  const lack = lackOfSuccess([outage, shownBy(health.blocked, nowMs)]);
  const isEarly = lack === undefined || lack.ms < settings.failingForMs;
  const troubles: Trouble[] = [];
  if (openNotice) {
    const endedAt = isOver ? successAt : null;
    const failures = Math.max(outage?.count ?? 0, openNotice.failures);
    troubles.push({
      ...openNotice,
      ...said(health, judged),
      failures,
      openNotice,
      isEarly,
      endedAt,
    });
  }
  if (lack && (!openNotice || isOver) && (!isEarly || lack.ms >= SHOWN_AFTER_MS)) {
    const failures = outage?.count ?? 0;
    troubles.push({
      ...said(health, judged),
      kind: 'failing',
      since: lack.since,
      failures,
      isEarly,
    });
  }
  return troubles;
}

type Failures = ReturnType<typeof outageOf>;

/** Returns undefined if there are too few failures to show an outage. */
function shownBy(failures: Parameters<typeof outageOf>[0] | undefined, nowMs: number): Failures {
  const outage = failures && outageOf(failures, nowMs);
  return outage && (failures.awaitedUntil > nowMs || outage.count >= LEAST_FAILURES)
    ? outage
    : undefined;
}

/** Joins the time of failures and the time in which nothing could be sent. */
function lackOfSuccess(outages: readonly Failures[]): { since: number; ms: number } | undefined {
  const shown = outages.filter((outage) => outage !== undefined);
  if (shown.length === 0) return undefined;
  const since = Math.min(...shown.map((outage) => outage.since));
  return { since, ms: Math.max(...shown.map((outage) => outage.since + outage.ms)) - since };
}

function reasonToSwitchOff(
  health: Health,
  { id, switchOffAfterMs }: Destination,
  { settings, nowMs }: World,
): Health['switchingOff'] {
  const limit = switchOffAfterMs ?? settings.switchOffAfterMs ?? 0;
  const outage = shownBy(health, nowMs);
  // Alerts report trouble, so their own destination is never switched off for failing. To switch a
  // destination off cancels all that waits: one failure is not enough, however late its next
  // attempt is.
  const isSure = outage !== undefined && outage.count >= LEAST_FAILURES && outage.ms >= limit;
  return id !== ALERTS_ID && limit > 0 && isSure
    ? { since: outage.since, failures: outage.count }
    : null;
}

/** Returns the trouble of a destination that Waypost has switched off itself. */
function switchedOff(health: Health, judged: JudgedDestination): Trouble[] {
  // A person may have switched it off before Waypost did.
  if (!health.switchingOff || !judged.destination?.switchedOff) return [];
  const endedAt = judged.world.nowMs;
  return [{ ...said(health, judged), kind: 'switched_off', ...health.switchingOff, endedAt }];
}

/** Kinds whose trouble lasts while the history has deliveries that it is about. */
export const COUNTED_KINDS = ['dead_letters', 'partly_delivered'] as const;

const COUNTED = {
  dead_letters: { unreported: 'dead', left: 'stillDead', number: 'deadLetters' },
  partly_delivered: { unreported: 'partly', left: 'stillPartly', number: 'partlyDelivered' },
} as const;

/**
 * Reports dead letters, or deliveries that reached only some URLs, once in `deadLettersEvery`,
 * without those that were replayed before it was time.
 */
function counted(
  kind: (typeof COUNTED_KINDS)[number],
  health: Health,
  judged: JudgedDestination,
): Trouble[] {
  const { id, destination, notices, world } = judged;
  const { unreported, left, number } = COUNTED[kind];
  const found = health[unreported];
  const own = notices.filter((notice) => notice.kind === kind);
  if (found && own.every(({ at }) => world.nowMs - at >= world.settings.deadLettersEveryMs)) {
    health[unreported] = null;
    const { count, ...since } = found;
    const stillThere = Math.min(count, world.counts?.get(id)?.[left] ?? Infinity);
    if (stillThere > 0) {
      return [{ ...said(health, judged), ...since, kind, [number]: stillThere }];
    }
  }
  return own
    .filter((notice) => isOpen(notice) && destination && !world.over?.has(notice.id))
    .map((openNotice) => ({ ...openNotice, openNotice }));
}

/** What every trouble of the health of a destination says. */
function said({ error }: Health, { id, destination }: JudgedDestination) {
  const { webhooks = [], name = '' } = destination ?? {};
  // The URL that failed last, if it is known.
  const webhook = webhooks.find((each) => each.id === error?.url) ?? webhooks[0];
  return { destination: id, name, error: error?.text ?? null, origin: webhook?.origin ?? null };
}

/** Long enough to renew a certificate by hand. */
export const EXPIRES_SOON_MS = 14 * 86_400_000;

/**
 * Returns the certificates that end soon or have ended. Only the first one of an origin begins a
 * trouble.
 */
function expiring(
  { id, name, webhooks }: Destination,
  open: readonly Notice[],
  servers: ReadonlyMap<string, number>,
  nowMs: number,
): Trouble[] {
  if (servers.size === 0 && webhooks.every(({ tls }) => !tls)) return [];
  const ends = webhooks
    .filter(({ disabled }) => !disabled)
    .flatMap((webhook) => endsOf(webhook, servers, nowMs))
    .filter(({ at }) => at - nowMs < EXPIRES_SOON_MS)
    .sort((a, b) => a.at - b.at);
  const seen = new Set<string>();
  return ends.flatMap(({ origin, what, at }) => {
    const isFirst = !seen.has(origin);
    seen.add(origin);
    const openNotice = open.find(
      (notice) =>
        notice.kind === 'certificate_expiring' &&
        notice.origin === origin &&
        notice.expiresAt === at,
    );
    if (openNotice) return [{ ...openNotice, openNotice }];
    const begun: Trouble = {
      kind: 'certificate_expiring',
      destination: id,
      name,
      since: nowMs,
      error: `${origin}: ${what}`,
      origin,
      expiresAt: at,
    };
    return isFirst ? [begun] : [];
  });
}

interface End {
  origin: string;
  what: string;
  at: number;
}

function endsOf(
  { origin, auth, tls }: EncryptedWebhook,
  servers: ReadonlyMap<string, number>,
  nowMs: number,
): End[] {
  const ends: End[] = [];
  const add = (from: string, what: string, at: number | undefined) => {
    if (at !== undefined) ends.push({ origin: from, what, at });
  };
  add(origin, 'the certificate of the server', servers.get(origin));
  if (auth?.type === 'oauth2') {
    add(auth.tokenOrigin, 'the certificate of the token endpoint', servers.get(auth.tokenOrigin));
  }
  if (tls) {
    const { certificate, ca } = tlsEnds(tls);
    add(origin, 'the client certificate (tls.certificate)', firstOf(certificate));
    add(origin, 'an authority (tls.ca)', firstUsable(ca, nowMs));
  }
  return ends;
}

function firstOf(ends: readonly number[]): number | undefined {
  return ends.length > 0 ? Math.min(...ends) : undefined;
}

/**
 * Returns the first end of the authorities that are valid; the last one if none is. Bundles often
 * contain expired ones.
 */
function firstUsable(ends: readonly number[], nowMs: number): number | undefined {
  const valid = ends.filter((at) => at > nowMs);
  if (valid.length > 0) return Math.min(...valid);
  return ends.length > 0 ? Math.max(...ends) : undefined;
}

/**
 * A filter may take much work at the busiest hour of each day only: it is one trouble, with one
 * alert.
 */
const FILTER_QUIET_MS = 24 * 3_600_000;

function filtersIn(facts: readonly Fact[]): Map<string, FilterEvent> {
  return new Map(
    facts.flatMap(({ event }) =>
      event.kind === 'filter' ? [[event.destination, event] as const] : [],
    ),
  );
}

/** An event about an earlier text of the filter says nothing about the present one. */
function costly(
  { id, name, filter }: Destination,
  open: readonly Notice[],
  event: FilterEvent | undefined,
  nowMs: number,
): Trouble[] {
  if (!event || filter === undefined || nowMs - Date.parse(event.at) > FILTER_QUIET_MS) return [];
  if (filterDigest(filter) !== event.filter) return [];
  const openNotice = open.find(({ kind }) => kind === 'filter_costly');
  if (openNotice) return [{ ...openNotice, openNotice }];
  const { units, limit } = event;
  const whole = `${String(Math.round(limit))} units of work that one message may take`;
  const error =
    units >= limit
      ? `a message needed more than the ${whole}, and was not delivered`
      : `a message took ${String(Math.round(units))} of the ${whole}`;
  return [{ kind: 'filter_costly', destination: id, name, since: nowMs, error }];
}

const DISABLED_BY = {
  gone: 'its receiver answered 410 (Gone), so nothing is sent to it any more',
  asked: 'its receiver asked to get nothing more',
} as const;

/**
 * Returns the URLs that their receivers have switched off. Who switches one off himself needs no
 * notice.
 */
function disabledBy({ id, name, webhooks }: Destination, open: readonly Notice[]): Trouble[] {
  if (webhooks.every(({ disabled }) => !disabled)) return [];
  return webhooks.flatMap(({ id: webhook, origin, disabled }) => {
    if (!disabled || disabled.reason === 'user') return [];
    const since = Date.parse(disabled.at);
    const error = `${origin}: ${DISABLED_BY[disabled.reason]}`;
    const openNotice = open.find((notice) => notice.webhook === webhook && notice.since === since);
    const trouble: Trouble = {
      kind: 'webhook_disabled',
      destination: id,
      name,
      since,
      error,
      origin,
      webhook,
      ...defined({ openNotice }),
    };
    return [trouble];
  });
}

function full({ fullProfiles, nowMs }: World, open: readonly Notice[]): Trouble[] {
  const openNotice = open.find(({ kind }) => kind === 'profile_full');
  if (openNotice) return fullProfiles === 0 ? [] : [{ ...openNotice, openNotice }];
  if (fullProfiles === undefined || fullProfiles === 0) return [];
  const error =
    'some events and traits of these users are not stored, because their profiles have ' +
    'reached the size limit';
  const common = { destination: '', name: 'Profiles', since: nowMs, error };
  return [{ kind: 'profile_full', ...common, fullProfiles }];
}
