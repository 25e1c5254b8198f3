import { DeliveryList } from '../deliveries/list';
import { Page } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.deliveries;

/** The outcome of each message at each destination. */
export function Deliveries() {
  return (
    <Page title={words.deliveries}>
      <DeliveryList />
    </Page>
  );
}
