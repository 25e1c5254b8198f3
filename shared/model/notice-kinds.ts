/**
 * The kinds of notices. An alert sends one. `profile_full` is about the profiles of all users, the
 * others about a destination.
 */
export const NOTICE_KINDS = [
  'failing',
  'recovered',
  'dead_letters',
  'switched_off',
  'webhook_disabled',
  'partly_delivered',
  'certificate_expiring',
  'filter_costly',
  'profile_full',
] as const;
/**
 * Kinds whose notice stays open while the trouble lasts. An alert reports its end too, with the
 * same id.
 */
export const LASTING_KINDS = [
  'certificate_expiring',
  'filter_costly',
  'profile_full',
  'webhook_disabled',
] as const;
export type LastingKind = (typeof LASTING_KINDS)[number];
