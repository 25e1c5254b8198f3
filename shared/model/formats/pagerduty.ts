import { type JsonObject } from '../message';
import { cut } from './card';

/**
 * PagerDuty: an event of Events API v2 (developer.pagerduty.com/docs/send-alert-event). Delivery
 * writes `routing_key` before it, from the `auth` of the URL.
 */

export const SEVERITIES = ['critical', 'error', 'warning', 'info'] as const;
export const EVENT_ACTIONS = ['trigger', 'acknowledge', 'resolve'] as const;

const MAX_SUMMARY = 1_024;
const MAX_DEDUP_KEY = 255;

export interface Incident {
  summary: string;
  source: string;
  severity: (typeof SEVERITIES)[number];
  action: (typeof EVENT_ACTIONS)[number];
  /** the same for all events of one incident */
  dedupKey: string;
  /** ISO 8601 */
  at: string;
  class: string;
  details: JsonObject;
}

export function pagerdutyBody({
  summary,
  source,
  severity,
  action,
  dedupKey,
  at,
  class: type,
  details,
}: Incident) {
  return {
    event_action: action,
    dedup_key: cut(dedupKey, MAX_DEDUP_KEY),
    payload: {
      summary: cut(summary, MAX_SUMMARY),
      source,
      severity,
      timestamp: at,
      class: type,
      custom_details: details,
    },
    client: 'Waypost',
  };
}
