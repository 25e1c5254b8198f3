import { Button, Text } from '@mantine/core';
import { useState } from 'react';
import { useRead } from '../lib/api';
import { checklistOf } from '../lib/checklist';
import { useIsAdmin } from '../lib/session';
import { useTelling } from '../lib/sources';
import { Icon } from '../ui/icons';
import { TextLink } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.checklist;

const HIDDEN = 'waypost.checklist.hidden';
const LOOK_AGAIN_MS = 10_000;
const FIRST = 20;

/**
 * The first steps, for administrators: it stays until all are done or the user hides it in this
 * browser.
 */
export function Checklist() {
  const admin = useIsAdmin();
  const [hidden, setHidden] = useState(wasHidden);
  if (!admin || hidden) return null;
  const hide = () => {
    try {
      localStorage.setItem(HIDDEN, 'true');
    } catch {
      // Storage is disabled: the list is back after a reload.
    }
    setHidden(true);
  };
  return <Steps onHide={hide} />;
}

function Steps({ onHide }: { onHide: () => void }) {
  const telling = useTelling();
  // Whoever has more of them is beyond the first steps.
  const first = { query: { limit: FIRST } };
  const sources = useRead('GET /sources', first);
  const destinations = useRead('GET /destinations', first);
  const alerts = useRead('GET /alerts', {});
  const query = { status: 'delivered' as const, limit: 20 };
  const delivered = useRead('GET /deliveries', { query }, { every: LOOK_AGAIN_MS, keep: true });
  if (!sources.data || !destinations.data || !alerts.data || !delivered.data) return null;
  const steps = checklistOf({
    sources: sources.data.data.data.filter(({ id }) => !telling.has(id)).length,
    destinations: destinations.data.data.data,
    delivered: delivered.data.data.data.some(({ test }) => !test),
    alerts: alerts.data.data,
  });
  const left = steps.filter(({ done }) => !done).length;
  if (left === 0) return null;
  const next = steps.find(({ done }) => !done);
  if (left === 1 && next) {
    return (
      <section className="steps-line" aria-label={words.firstSteps}>
        <span>{words.progress(steps.length - left, steps.length)}</span>
        <TextLink to={next.to}>{next.text}</TextLink>
        <Button size="compact-xs" variant="subtle" color="gray" onClick={onHide}>
          {words.hide}
        </Button>
      </section>
    );
  }
  return (
    <section className="card" aria-label={words.firstSteps}>
      <div className="row spread">
        <h2>{words.firstSteps}</h2>
        <Button size="xs" variant="default" onClick={onHide}>
          {words.hide}
        </Button>
      </div>
      <Text size="sm" className="quiet">
        {words.progress(steps.length - left, steps.length)}
      </Text>
      <ul className="checklist">
        {steps.map(({ text, to, done }) => (
          <li key={text} className={done ? 'done' : ''}>
            <span className="box">{done && <Icon name="check" />}</span>
            {done ? (
              <span>
                {text} <span className="quiet">{words.done}</span>
              </span>
            ) : (
              <TextLink to={to}>{text}</TextLink>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function wasHidden(): boolean {
  try {
    return localStorage.getItem(HIDDEN) === 'true';
  } catch {
    return false;
  }
}
