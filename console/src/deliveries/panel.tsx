import { ActionIcon } from '@mantine/core';
import { Story } from '../delivery/story';
import { sentenceOf, titleOf } from '../delivery/timeline';
import { useRead } from '../lib/api';
import { Icon } from '../ui/icons';
import { LinkButton, Pill, Unread } from '../ui/ui';
import { text } from '../texts';

const words = text.watch.deliveries;

/** One delivery beside the list, which stays where it is. */
export function DeliveryPanel({ id, onClose }: { id: string; onClose: () => void }) {
  const read = useRead('GET /deliveries/{id}', { id }, { every: 5_000, keep: true });
  const delivery = read.error ? undefined : read.data?.data;
  return (
    <aside className="panel" aria-label={words.panel}>
      <div className="panel-head">
        <h2>{delivery ? titleOf(delivery) : words.panel}</h2>
        <LinkButton size="xs" to={`/deliveries/${id}`}>
          {words.open}
        </LinkButton>
        <ActionIcon variant="default" aria-label={words.close} onClick={onClose}>
          <Icon name="close" />
        </ActionIcon>
      </div>
      {delivery ? (
        <>
          <p className="sentence">
            <Pill kind={delivery.status} />
            <span>{sentenceOf(delivery, Date.now())}</span>
          </p>
          <Story delivery={delivery} />
        </>
      ) : (
        <Unread read={read} what={text.watch.delivery.theDelivery} />
      )}
    </aside>
  );
}
