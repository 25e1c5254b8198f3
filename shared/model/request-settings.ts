/**
 * The differences of a destination's requests from the default POST: the `request` of its entry.
 */

export const METHODS = ['POST', 'PUT', 'PATCH'] as const;
export type Method = (typeof METHODS)[number];

/**
 * Shapes of the body that need no template (shared/model/formats). `default` is the message itself.
 */
export const BODY_FORMATS = [
  'default',
  'thin',
  'cloudevents',
  'cloudevents-binary',
  'slack',
  'teams',
  'discord',
  'pagerduty',
] as const;
export type BodyFormat = (typeof BODY_FORMATS)[number];

/** Differences of a destination's requests from the default POST. */
export interface RequestSettings {
  /** absent: POST */
  method?: Method;
  /** absent: `default`, or `body` */
  format?: BodyFormat;
  /** a CEL expression that yields a map, a list or text (docs/guide/bodies.md) */
  body?: string;
  /** name → CEL expression that yields text */
  headers?: Record<string, string>;
  /** bytes of a body above which it is compressed; absent: never */
  gzipAbove?: number;
}
