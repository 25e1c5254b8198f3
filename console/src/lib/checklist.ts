import { type Alerts, type Destination } from '../../../shared/api/operations';

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
    { text: 'Create a source', to: first ? '/sources' : '/connect', done: sources > 0 },
    { text: 'Connect a destination', to: '/connect', done: first !== undefined },
    { text: 'Sign its requests with a secret', to: page, done: destinations.some((each) => each.hasSharedSecret) },
    { text: 'Enable it', to: page, done: destinations.some(({ enabled }) => enabled) },
    { text: 'Deliver a first event', to: first ? `/connect/${first.id}/live` : '/connect', done: delivered },
    { text: 'Receive alerts by a webhook', to: '/alerts', done: alerts.enabled && alerts.webhooks.length > 0 },
  ];
}
