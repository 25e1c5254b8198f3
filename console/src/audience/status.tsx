import { Progress, Text } from '@mantine/core';
import { type Audience } from '../../../shared/api/operations';
import { count } from '../lib/labels';
import { Pill, When } from '../ui/ui';
import { phaseInWords, progressOf, statusInWords } from './labels';
import { text } from '../texts';

const words = text.audience.status;

/** The progress of the first sync and of later ones. */
export function StatusView({ of: definition }: { of: Pick<Audience, 'status' | 'destinations'> }) {
  const { status } = definition;
  const { members, full, sent, waiting, lastSync } = status;
  const percent = progressOf(status);
  return (
    <section className="card" aria-label={words.state}>
      <Text role="status">{statusInWords(definition)}</Text>
      {percent !== undefined && (
        <Progress value={percent} aria-label={words.profilesChecked} my="sm" />
      )}
      <dl className="figures below">
        <div>
          <dt>{words.users}</dt>
          <dd>{count(members)}</dd>
        </div>
        <div>
          <dt>{words.callsSent}</dt>
          <dd>{count(sent)}</dd>
        </div>
        <div>
          <dt>{words.waiting}</dt>
          <dd>{count(waiting)}</dd>
        </div>
        {full > 0 && (
          <div title={words.fullProfilesHint}>
            <dt>{words.fullProfiles}</dt>
            <dd>{count(full)}</dd>
          </div>
        )}
        <div>
          <dt>{words.lastSync}</dt>
          <dd>
            <When at={lastSync?.at ?? null} />
          </dd>
        </div>
      </dl>
    </section>
  );
}

export function Phase({ of: status }: { of: Audience['status'] }) {
  const percent = progressOf(status);
  return (
    <Pill kind={status.phase}>
      {phaseInWords(status.phase)}
      {percent !== undefined && ` ${percent} %`}
    </Pill>
  );
}
