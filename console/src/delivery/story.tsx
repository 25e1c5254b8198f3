import { useState } from 'react';
import { type Delivery } from '../../../shared/api/operations';
import { AttemptView, BodyView } from '../destination/attempt';
import { At, Empty, Section } from '../ui/ui';
import { attemptName } from './compare';
import { NotCalled } from './not-called';
import { type Moment, momentsOf, newestOf } from './timeline';
import { text } from '../texts';

const words = text.watch.delivery;

type Attempt = Delivery['attempts'][number];

/** The life of a delivery, and beside it what one attempt sent and what was answered. */
export function Story({ delivery }: { delivery: Delivery }) {
  const [chosen, setChosen] = useState<string>();
  const { attempts } = delivery;
  const shown = attempts.find((each) => keyOf(each) === chosen) ?? newestOf(attempts);
  return (
    <div className="story">
      <section className="card" aria-label={words.timeline}>
        <h2>{words.timeline}</h2>
        <ol className="timeline">
          {momentsOf(delivery, Date.now()).map((moment, i) => (
            // Moments have no id, and new ones come at the end.
            <li key={i} className={`moment-${moment.kind}`}>
              <MomentText
                of={moment}
                isShown={moment.attempt !== undefined && moment.attempt === shown}
                onShow={setChosen}
              />
              {moment.at !== null && (
                <span className="quiet">
                  <At at={moment.at} />
                </span>
              )}
            </li>
          ))}
        </ol>
      </section>
      {shown ? (
        <AttemptView
          key={keyOf(shown)}
          attempt={shown}
          heading={attemptName(shown)}
          body={delivery.body}
          isTest={delivery.test}
          notCalled={
            shown.notCalled && (
              <NotCalled destination={delivery.destination} ids={shown.notCalled} />
            )
          }
        />
      ) : (
        <div>
          <Empty title={words.noAttemptsYet} />
          <Section title={words.body}>
            <BodyView body={delivery.body} />
          </Section>
        </div>
      )}
    </div>
  );
}

interface MomentProps {
  of: Moment;
  isShown: boolean;
  onShow: (attempt: string) => void;
}

function MomentText({ of: { text, attempt }, isShown, onShow }: MomentProps) {
  if (!attempt) return <span>{text}</span>;
  return (
    <button className="moment" aria-pressed={isShown} onClick={() => onShow(keyOf(attempt))}>
      {text}
    </button>
  );
}

function keyOf({ replay, n, at }: Attempt): string {
  return `${String(replay)}-${String(n)}-${at}`;
}
