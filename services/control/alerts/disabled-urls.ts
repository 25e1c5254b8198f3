import { type ConfigReader } from '../../../shared/config/types';
import { type UrlDisabledEvent } from '../../../shared/model/attempt-events';
import { type Destination } from '../../../shared/model/config';
import { isoTime } from '../../../shared/model/time';
import { messageOf } from '../../../shared/runtime/errors';
import { type Log } from '../../../shared/telemetry/log';
import { WAYPOST } from '../auth/identities';
import { type ConfigEntries } from '../config/config-entries';
import { disableWebhook } from '../destinations/disabled-webhooks';
import { type Fact } from '../health/facts';
import { dropFacts, readFacts } from '../health/store';
import { type Asking } from '../history/database';

/**
 * Writes to destinations which of their URLs delivery has stopped sending to, because their
 * receivers want nothing more. The caller holds the lease.
 *
 * An event stays stored until it was written, or says nothing any more: control may be killed
 * anywhere.
 */

const REFRESH_MS = 5_000;

export interface DisabledUrlsOptions {
  history: Asking;
  config: Pick<ConfigReader, 'destination' | 'refresh'>;
  entries: Pick<ConfigEntries, 'change'>;
  now: () => Date;
  log: Log;
}

/** @throws an error of Kafka or the database; nothing is lost */
export async function writeDisabledUrls(options: DisabledUrlsOptions): Promise<void> {
  const { history, config } = options;
  const facts = await history.ask((database) => readFacts(database, ['url_disabled']));
  if (facts.length === 0) return;
  // Delivery may know a destination that another control process has just made or changed.
  await config.refresh(REFRESH_MS);
  const settled: Fact[] = [];
  for (const fact of facts) {
    // Several delivery processes may have said so, the first one at `firstAt`.
    const at = isoTime(fact.firstAt);
    const event = { ...(fact.event as UrlDisabledEvent), at };
    const destination = config.destination(event.destination)?.data;
    if (!destination || !holds(event, destination) || (await write(options, event))) {
      settled.push(fact);
    }
  }
  await history.ask((database) => dropFacts(database, settled));
}

/** Returns false if the URL is off already, or was switched on or replaced since. */
function holds({ webhook, enables }: UrlDisabledEvent, { webhooks }: Destination): boolean {
  return webhooks.some(
    (each) => each.id === webhook && !each.disabled && (each.enables ?? 0) === enables,
  );
}

/** @returns false if it must be tried again */
async function write(
  { entries, now, log }: DisabledUrlsOptions,
  event: UrlDisabledEvent,
): Promise<boolean> {
  const { destination: id, webhook, reason, at } = event;
  try {
    let isChanged = false as boolean;
    await entries.change('destination', { id, ifMatch: undefined, by: WAYPOST }, (before) => {
      isChanged = holds(event, before);
      return isChanged ? disableWebhook(before, webhook, { at, reason }, now()) : before;
    });
    if (isChanged) log.warn({ destination: id, url: webhook, reason }, 'webhook.disabled');
    return true;
  } catch (error) {
    log.warn({ destination: id, url: webhook, reason: messageOf(error) }, 'webhook.not_disabled');
    return false;
  }
}
