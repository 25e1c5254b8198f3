import { Progress, Text } from '@mantine/core';
import { type Audience } from '../../../shared/api/operations';
import { count } from '../lib/labels';
import { Pill, When } from '../ui/ui';
import { phaseInWords, progressOf, statusInWords } from './labels';

/** The progress of the first sync and of later ones. */
export function StatusView({ status }: { status: Audience['status'] }) {
  const { members, full, sent, waiting, lastSync } = status;
  const percent = progressOf(status);
  return (
    <section className="card" aria-label="State">
      <div className="row" role="status">
        <Phase of={status} />
        <Text size="sm" span>
          {statusInWords(status)}
        </Text>
      </div>
      {percent !== undefined && <Progress value={percent} aria-label="Profiles checked" my="sm" />}
      <dl className="figures below">
        <div>
          <dt>Users</dt>
          <dd>{count(members)}</dd>
        </div>
        <div>
          <dt>Calls sent</dt>
          <dd>{count(sent)}</dd>
        </div>
        <div>
          <dt>Waiting</dt>
          <dd>{count(waiting)}</dd>
        </div>
        {full > 0 && (
          <div title="Some changes of these users were refused because their profiles are full">
            <dt>Full profiles</dt>
            <dd>{count(full)}</dd>
          </div>
        )}
        <div>
          <dt>Last sync</dt>
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
