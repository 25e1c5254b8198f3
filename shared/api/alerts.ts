import { z } from 'zod';
import { ALERT_FORMATS, ALERTS_ID, DEFAULT_ALERTS } from '../model/config';
import { DESTINATION_FIELDS } from '../model/destination-fields';
import { NOTICE_KINDS } from '../model/notice-kinds';
import { FILTER_STATUSES } from '../model/reasons';
import {
  changed,
  count,
  durationField,
  durationText,
  flag,
  longList,
  pageParameters,
  patchOf,
  time,
} from './fields';
import { type OperationsOf } from './operation';
import {
  MAX_WEBHOOKS,
  rotated,
  rotateSecretBody,
  sharedSecret,
  webhookBody,
  webhookFields,
} from './webhooks';

/** The settings of alerts, and notices: requests, responses and operations. */

const SECOND_MS = 1_000;
const DEFAULT_TEXT = {
  failingFor: durationText(DEFAULT_ALERTS.failingForMs),
  deadLettersEvery: durationText(DEFAULT_ALERTS.deadLettersEveryMs),
};

const MAX_MAILBOXES = 10;
const MAX_ADDRESS = 254;
const format = z
  .enum(ALERT_FORMATS)
  .meta({ description: 'Shape of the body. pagerduty needs auth of the type pagerduty' });

export const alertsBody = z.strictObject({
  enabled: z
    .boolean()
    .default(true)
    .meta({ description: 'If false, Waypost shows notices and sends no alerts' }),
  webhooks: z
    .array(webhookBody.extend({ format: format.optional() }))
    .max(MAX_WEBHOOKS)
    .default([])
    .meta({
      description:
        'URLs for alerts, as in a destination. Of the URLs with one format, an alert is ' +
        'delivered when the first one accepts it',
    }),
  email: z.array(z.email().max(MAX_ADDRESS)).max(MAX_MAILBOXES).default([]).meta({
    description:
      'Addresses that each get every alert. They need WAYPOST_SMTP_URL at control and delivery',
  }),
  sharedSecret: sharedSecret.optional(),
  failingFor: durationField(z.string().default(DEFAULT_TEXT.failingFor), {
    leastMs: SECOND_MS,
  }).meta({
    description:
      'A destination is failing after this long with failures and without a success. The ' +
      'wait for an announced attempt counts, and so does a wait for which nothing could be ' +
      'sent',
  }),
  deadLettersEvery: durationField(z.string().default(DEFAULT_TEXT.deadLettersEvery), {
    leastMs: SECOND_MS,
  }).meta({
    description:
      'At most one alert of dead letters, and one of partly delivered ones, per ' +
      'destination in this time',
  }),
  switchOffAfter: durationField(z.string(), {
    mostMs: DESTINATION_FIELDS.switchOffAfter.mostMs,
  })
    .optional()
    .meta({
      description:
        'Switch destinations off after failing for this long, as in failingFor, and at least ' +
        'twice, such as 5d. Omit or 0s: never',
    }),
});

const alerts = z.strictObject({
  enabled: z.boolean(),
  ...webhookFields,
  webhooks: z.array(webhookFields.webhooks.element.extend({ format })),
  email: z.array(z.string()),
  switchOffAfter: z.string().nullable(),
  failingFor: z.string(),
  deadLettersEvery: z.string(),
  ...changed,
  version: count,
});

/**
 * `none`: no alert is sent, for example without a URL for alerts; `later`: one is sent if the
 * trouble lasts; `due`: still to be sent
 */
export const ALERT_STATES = ['none', 'later', 'due', 'sent'] as const;

const notice = z.strictObject({
  id: z.string(),
  at: time,
  destination: z
    .string()
    .nullable()
    .meta({ description: 'null of profile_full, which is about all profiles' }),
  name: z.string().meta({ description: 'Name of the destination at that time' }),
  destinationDeleted: z.boolean().meta({ description: 'true: the destination exists no more' }),
  kind: z.enum(NOTICE_KINDS),
  origin: z.string().nullable().meta({
    description: 'Origin of the endpoint that it is about. null: it is about none, or unknown',
  }),
  since: time,
  endedAt: time.nullable().meta({ description: 'null while it continues' }),
  count: count.nullable().meta({
    description:
      'At the time of the request: deliveries that are dead, that lack a URL, or that wait for a ' +
      'failing endpoint; full profiles. 0 once it has ended, and of other kinds. ' +
      'null: unknown, because the history is held up',
  }),
  deliveries: z
    .strictObject({
      destination: z.string(),
      status: z.enum(FILTER_STATUSES),
      counted: z.literal(true),
    })
    .nullable()
    .meta({ description: 'The filter of GET /deliveries that finds what count counts' }),
  followedBy: z.string().nullable().meta({
    description: 'The later notice that has taken its place, of the same trouble',
  }),
  failures: count.meta({
    description:
      'Failed attempts, at the time of the request; once it has ended, at that of its alert',
  }),
  deadLetters: count.meta({ description: 'Given up when it was raised, since the one before' }),
  partlyDelivered: count.meta({
    description: 'Deliveries that did not reach all URLs when it was raised, since the one before',
  }),
  fullProfiles: count.meta({ description: 'Users whose profiles were full when it began' }),
  expiresAt: time.nullable().meta({ description: 'When the certificate ends' }),
  webhook: z.string().nullable().meta({ description: 'The webhook of webhook_disabled' }),
  error: z.string().nullable().meta({ description: 'The last failure, or what the trouble is' }),
  alert: z.enum(ALERT_STATES).meta({
    description:
      'later: one is sent once it has failed for failingFor; due: not sent yet; none: no alert ' +
      'is sent',
  }),
  delivery: z.string().nullable().meta({ description: 'The delivery of the alert' }),
  acknowledged: z
    .strictObject({ at: time, by: z.strictObject({ id: z.string(), name: z.string() }) })
    .nullable(),
});

const MOST_ACKNOWLEDGED = 200;
export const acknowledgeBody = z
  .strictObject({
    ids: z.array(z.string()).min(1).max(MOST_ACKNOWLEDGED).optional(),
    origin: z.string().optional().meta({
      description: 'Origin of an endpoint: all notices about it, such as https://api.example.com',
    }),
  })
  .refine(({ ids, origin }) => (ids === undefined) !== (origin === undefined), {
    message: 'needs either ids or origin',
  });

export const ALERT_RESPONSES = {
  Alerts: alerts,
  RotatedAlerts: alerts.extend(rotated),
  Notice: notice,
  Notices: longList(notice),
  AcknowledgedNotices: z.strictObject({
    ids: z.array(z.string()).meta({ description: 'The notices that nobody had acknowledged' }),
  }),
};

export const ALERT_OPERATIONS = {
  'GET /alerts': { summary: 'Get the alert settings', ok: [200, 'Alerts'] },
  'PATCH /alerts': {
    summary: 'Update the alert settings',
    ok: [200, 'Alerts'],
    body: patchOf(alertsBody),
    conditional: true,
  },
  'POST /alerts/rotate-secret': {
    summary: 'Rotate the shared secret of alerts',
    ok: [200, 'RotatedAlerts'],
    body: rotateSecretBody,
    conditional: true,
  },
  'POST /alerts/test': {
    act: { kind: 'destination', action: 'tested', entry: ALERTS_ID },
    summary: 'Send a sample alert and wait for its attempt',
    ok: [200, 'Test'],
  },
  'GET /notices': {
    summary: 'List notices, newest first',
    ok: [200, 'Notices'],
    query: pageParameters.extend({
      destination: z.string().optional(),
      kind: z.enum(NOTICE_KINDS).optional(),
      open: flag.optional().meta({ description: 'true: ongoing notices; false: ended ones' }),
      acknowledged: flag.optional(),
    }),
  },
  'GET /notices/{id}': { summary: 'Get a notice', ok: [200, 'Notice'] },
  'POST /notices/{id}/acknowledge': {
    act: { kind: 'notice', action: 'acknowledged' },
    summary: 'Acknowledge a notice',
    ok: [200, 'Notice'],
  },
  'POST /notices/acknowledge': {
    act: { kind: 'notice', action: 'acknowledged', entry: 'several' },
    summary: 'Acknowledge several notices, or all of one origin',
    ok: [200, 'AcknowledgedNotices'],
    body: acknowledgeBody,
  },
} as const satisfies OperationsOf<'alerts' | 'notices'>;
