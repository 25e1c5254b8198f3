import { stringifyJson } from '../../json/json';
import { type Message } from '../message';
import { type BodyFormat } from '../request-settings';
import { renderBody } from '../webhook-body';
import { cardOf, detailsOf, textIn } from './card';
import { discordBody, slackBody, teamsBody } from './chat';
import { attributesOf, binaryHeaders } from './cloudevents';
import { EVENT_ACTIONS, pagerdutyBody, SEVERITIES } from './pagerduty';

/** Renders the body of a format. Every message has one: a format never fails. */

export interface Formatted {
  body: string;
  /** absent: application/json */
  contentType?: string;
  /** alternating names and values */
  headers?: string[];
}

export const CLOUDEVENTS_TYPE = 'application/cloudevents+json; charset=utf-8';

const FORMATS: Record<BodyFormat, (message: Message, sourceId: string) => Formatted> = {
  default: (message) => ({ body: renderBody(message) }),
  thin: (message) => json(thinBody(message)),
  cloudevents: (message, sourceId) => ({
    body: structured(message, sourceId),
    contentType: CLOUDEVENTS_TYPE,
  }),
  'cloudevents-binary': (message, sourceId) => ({
    body: renderBody(message),
    headers: binaryHeaders(attributesOf(message, sourceId)),
  }),
  slack: (message) => json(slackBody(cardOf(message))),
  teams: (message) => json(teamsBody(cardOf(message))),
  discord: (message) => json(discordBody(cardOf(message))),
  pagerduty: (message, sourceId) => json(incidentBody(message, sourceId)),
};

export function formatBody(format: BodyFormat, message: Message, sourceId: string): Formatted {
  return FORMATS[format](message, sourceId);
}

function json(body: object): Formatted {
  return { body: stringifyJson(body) };
}

/** The ids of a message: a receiver that needs more asks for it. */
function thinBody({
  type,
  messageId,
  userId,
  anonymousId,
  groupId,
  previousId,
  event,
  timestamp,
}: Message): object {
  return { type, messageId, userId, anonymousId, groupId, previousId, event, timestamp };
}

/** Appends the default body as it is, so that its keys keep their order. */
function structured(message: Message, sourceId: string): string {
  const attributes = { ...attributesOf(message, sourceId), datacontenttype: 'application/json' };
  return `${JSON.stringify(attributes).slice(0, -1)},"data":${renderBody(message)}}`;
}

/**
 * The properties `severity`, `event_action` and `dedup_key` of an event choose those of the
 * incident.
 */
function incidentBody(message: Message, sourceId: string): object {
  const details = detailsOf(message);
  const chosen = <T extends string>(name: string, values: readonly T[], otherwise: T) =>
    values.find((value) => value === textIn(details, name)) ?? otherwise;
  const { title, footer, at } = cardOf(message);
  return pagerdutyBody({
    summary: `${title} (${footer})`,
    source: sourceId,
    severity: chosen('severity', SEVERITIES, 'info'),
    action: chosen('event_action', EVENT_ACTIONS, 'trigger'),
    dedupKey: textIn(details, 'dedup_key') ?? message.messageId,
    at,
    class: message.type,
    details,
  });
}
