import { type Alerts, type Destination } from '../../../shared/api/operations';
import { text } from '../texts';

const words = text.lib.checklist;

/** The steps of a first installation, and which are done. Pure. */

interface Present {
  /** number of sources that clients send to */
  sources: number;
  destinations: readonly Pick<Destination, 'id' | 'enabled' | 'hasSharedSecret'>[];
  /** a real message has been delivered */
  delivered: boolean;
  alerts: Pick<Alerts, 'enabled' | 'webhooks'>;
}

interface Step {
  text: string;
  /** the page where the user does it */
  to: string;
  done: boolean;
}

export function checklistOf({ sources, destinations, delivered, alerts }: Present): Step[] {
  const first = destinations[0];
  const page = first ? `/destinations/${first.id}` : '/connect';
  return [
    { text: words.createSource, to: first ? '/sources' : '/connect', done: sources > 0 },
    { text: words.connectDestination, to: '/connect', done: first !== undefined },
    { text: words.signRequests, to: page, done: destinations.some((each) => each.hasSharedSecret) },
    { text: words.enableIt, to: page, done: destinations.some(({ enabled }) => enabled) },
    {
      text: words.deliverFirstEvent,
      to: first ? `/connect/${first.id}/live` : '/connect',
      done: delivered,
    },
    {
      text: words.receiveAlerts,
      to: '/alerts',
      done: alerts.enabled && alerts.webhooks.length > 0,
    },
  ];
}
