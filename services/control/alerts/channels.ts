import { compact } from '../../../shared/collections/defined';
import { type Encryptor } from '../../../shared/config/encryption';
import { isMailbox, MAILBOX_PREFIX, type MailBody } from '../../../shared/model/alert-mail';
import { type AlertFormat, type Destination } from '../../../shared/model/config';
import { type LastingKind } from '../../../shared/model/notice-kinds';
import { urlHash } from '../../../shared/model/delivery';
import { type Card } from '../../../shared/model/formats/card';
import { discordBody, slackBody, teamsBody } from '../../../shared/model/formats/chat';
import { pagerdutyBody } from '../../../shared/model/formats/pagerduty';
import { isoTime } from '../../../shared/model/time';
import { openWebhooks } from '../destinations/stored-webhook';
import { alertBody, isLasting, isOver, type Notice } from './notice';

/**
 * A receiver of alerts: all URLs of one format together, or one mailbox. Each channel gets a
 * separate delivery, since its body differs.
 */
export interface Channel {
  /** distinguishes the deliveries of a notice */
  name: string;
  endpoints: number;
  /** hashes of the endpoints of the other channels, which the delivery must not go to */
  excludedUrls: string[];
  body: (notice: Notice) => object;
  /** it holds an incident open until it hears of the end */
  holdsOpen: boolean;
}

/** Returns the channels in the order of the settings, so that the first one stays the first. */
export function channelsOf(to: Destination, encryptor: Encryptor): Channel[] {
  const { email = [], formats = {} } = to.alerts ?? {};
  const endpoints = [
    // A URL that cannot be decrypted is not sent to, so it needs no hash.
    ...openWebhooks(to, encryptor).map(({ sealed, url = '' }) => ({
      name: formats[sealed.id] ?? 'default',
      hash: urlHash(sealed.id, url),
    })),
    ...email.map((address) => {
      const name = `${MAILBOX_PREFIX}${address}`;
      return { name, hash: urlHash(name, name) };
    }),
  ];
  return [...new Set(endpoints.map(({ name }) => name))].map((name) => ({
    name,
    endpoints: endpoints.filter((endpoint) => endpoint.name === name).length,
    excludedUrls: endpoints.filter((endpoint) => endpoint.name !== name).map(({ hash }) => hash),
    body: isMailbox(name) ? mailBody : BODIES[name as AlertFormat],
    holdsOpen: name === ('pagerduty' satisfies AlertFormat),
  }));
}

const BODIES: Record<AlertFormat, Channel['body']> = {
  default: alertBody,
  slack: (notice) => slackBody(cardOf(notice)),
  teams: (notice) => teamsBody(cardOf(notice)),
  discord: (notice) => discordBody(cardOf(notice)),
  pagerduty: incidentBody,
};

type Title = (name: string) => string;

const TITLES: Record<Notice['kind'], Title> = {
  failing: (name) => `Webhooks to ${name} fail`,
  recovered: (name) => `Webhooks to ${name} arrive again`,
  dead_letters: (name) => `Waypost gave up deliveries to ${name}`,
  switched_off: (name) => `Waypost switched ${name} off`,
  webhook_disabled: (name) => `A receiver of ${name} wants nothing more`,
  partly_delivered: (name) => `Deliveries to ${name} did not reach all of its URLs`,
  certificate_expiring: (name) => `A certificate of ${name} expires soon`,
  filter_costly: (name) => `The filter of ${name} takes much work`,
  profile_full: () => 'Profiles of users are full',
};

const OVER: Record<LastingKind | 'failing', Title> = {
  failing: (name) => `${name} was switched off or deleted`,
  certificate_expiring: (name) => `The certificate of ${name} was replaced`,
  filter_costly: (name) => `The filter of ${name} takes little work again`,
  profile_full: () => 'No profile is full any more',
  webhook_disabled: (name) => `The URL of ${name} is on again`,
};

function titleOf(notice: Notice): string {
  const { kind, name, destination } = notice;
  const title = isOver(notice) ? OVER[kind as keyof typeof OVER] : TITLES[kind];
  return title(name || destination);
}

function cardOf(notice: Notice): Card {
  const { destination, since, failures, deadLetters, error, endedAt, kind, at } = notice;
  const { partlyDelivered, fullProfiles, expiresAt } = notice;
  const facts = compact([
    destination === '' ? undefined : { name: 'Destination', value: destination },
    { name: 'Since', value: isoTime(since) },
    kind === 'recovered' && endedAt !== null
      ? { name: 'Recovered', value: isoTime(endedAt) }
      : undefined,
    isOver(notice) && endedAt !== null ? { name: 'Until', value: isoTime(endedAt) } : undefined,
    expiresAt === null ? undefined : { name: 'Expires', value: isoTime(expiresAt) },
    failures > 0 ? { name: 'Failed attempts', value: String(failures) } : undefined,
    deadLetters > 0 ? { name: 'Dead letters', value: String(deadLetters) } : undefined,
    partlyDelivered > 0 ? { name: 'Partly delivered', value: String(partlyDelivered) } : undefined,
    fullProfiles > 0 ? { name: 'Full profiles', value: String(fullProfiles) } : undefined,
    error ? { name: isLasting(notice) ? 'Cause' : 'Last error', value: error } : undefined,
  ]);
  return { title: titleOf(notice), facts, footer: 'Waypost', at: isoTime(at) };
}

/** Kinds that share one incident of the destination. */
const OF_DESTINATION: readonly Notice['kind'][] = ['failing', 'recovered', 'switched_off'];

/**
 * A recovery resolves the incident that the failure triggered: both have the destination as their
 * key. So does the end of the destination. The end of a trouble that lasted has the same notice.
 */
function incidentBody(notice: Notice): object {
  const { id, kind, destination, at } = notice;
  const { data } = alertBody(notice);
  const isGood = kind === 'recovered' || isOver(notice);
  const isOfDestination = OF_DESTINATION.includes(kind);
  return pagerdutyBody({
    summary: titleOf(notice),
    source: destination || 'waypost',
    class: kind,
    at: isoTime(at),
    details: data,
    severity: isGood ? 'info' : isOfDestination ? 'error' : 'warning',
    action: isGood ? 'resolve' : 'trigger',
    dedupKey: isOfDestination ? `waypost/${destination}` : id,
  });
}

function mailBody(notice: Notice): MailBody {
  const { title, facts } = cardOf(notice);
  const text = [
    title,
    '',
    ...facts.map(({ name, value }) => `${name}: ${value}`),
    '',
    `Notice: ${notice.id}`,
  ].join('\n');
  return { subject: `[Waypost] ${title.replace(/\s+/g, ' ')}`, text };
}
