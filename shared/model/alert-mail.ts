/**
 * Alerts by e-mail: the address as an endpoint, and the body of the record that delivery sends by
 * SMTP.
 */

/** Before an address, where a webhook has the origin of its URL. */
export const MAILBOX_PREFIX = 'mailto:';

export interface MailBody {
  subject: string;
  text: string;
}

/** Returns whether the origin of an endpoint is a mailbox. */
export function isMailbox(origin: string): boolean {
  return origin.startsWith(MAILBOX_PREFIX);
}
