import { defined } from '../../../shared/collections/defined';
import { type AuthType, withType } from '../destination/auth-draft';
import { type Draft } from '../destination/draft';
import { type BatchDraft, NO_BATCH } from '../destination/plan-draft';
import { DEFAULT_REQUEST, type RequestDraft } from '../destination/request-draft';
import { text } from '../texts';

/** What a destination can be at first sight: each fills what a person would look up. Pure. */

const words = text.connect.kinds;

export const KINDS = [
  'webhook',
  'slack',
  'teams',
  'discord',
  'pagerduty',
  'cloudevents',
  'oauth2',
] as const;
export type Kind = (typeof KINDS)[number];

interface Preset {
  format: RequestDraft['format'];
  /** the one address that it has */
  url?: string;
  /** what its addresses look like; absent: like any */
  example?: string;
  auth?: AuthType;
  /** what its product accepts */
  maxPerSecond?: string;
  batch?: BatchDraft;
  /** it can check that a request comes from Waypost */
  checksSignatures: boolean;
  /** people read it: every event would be too many */
  wantsFilter: boolean;
}

const CHAT = {
  checksSignatures: false,
  wantsFilter: true,
} as const;
const PROGRAM = {
  format: 'default',
  checksSignatures: true,
  wantsFilter: false,
} as const;

const PRESETS: Record<Kind, Preset> = {
  webhook: PROGRAM,
  slack: {
    ...CHAT,
    format: 'slack',
    example: 'https://hooks.slack.com/services/T000/B000/XXXX',
    maxPerSecond: '1',
  },
  teams: {
    ...CHAT,
    format: 'teams',
    example: 'https://prod-00.westeurope.logic.azure.com/workflows/…',
    maxPerSecond: '1',
  },
  discord: {
    ...CHAT,
    format: 'discord',
    example: 'https://discord.com/api/webhooks/000/XXXX',
    maxPerSecond: '0.5',
  },
  pagerduty: {
    ...CHAT,
    format: 'pagerduty',
    url: 'https://events.pagerduty.com/v2/enqueue',
    example: 'https://events.pagerduty.com/v2/enqueue',
    auth: 'pagerduty',
  },
  cloudevents: {
    ...PROGRAM,
    format: 'cloudevents',
    example: 'https://broker.example.com/default',
    batch: {
      maxEvents: '50',
      maxWait: '1s',
      maxBytes: NO_BATCH.maxBytes,
    },
  },
  oauth2: {
    ...PROGRAM,
    example: 'https://api.example.com/events',
    auth: 'oauth2',
  },
};

export function presetOf(kind: Kind): Preset {
  return PRESETS[kind];
}

/**
 * Fills a draft for another kind. What the user has typed stays: the name and the address, unless
 * the kind before had filled them, and the secret.
 */
export function withKind(draft: Draft, before: Kind, kind: Kind): Draft {
  const [old, preset] = [PRESETS[before], PRESETS[kind]];
  const isSuggested = draft.name === words[before].suggestedName;
  return {
    ...draft,
    name: isSuggested ? words[kind].suggestedName : draft.name,
    request: {
      ...DEFAULT_REQUEST,
      format: preset.format,
    },
    maxPerSecond: preset.maxPerSecond ?? '',
    batch: preset.batch ?? NO_BATCH,
    filter: preset.wantsFilter ? draft.filter : '',
    webhooks: draft.webhooks.map(({ auth, tls: _, ...webhook }) => ({
      ...webhook,
      url: webhook.url === (old.url ?? '') ? (preset.url ?? '') : webhook.url,
      ...defined({ auth: preset.auth && withType(auth, preset.auth) }),
    })),
  };
}
