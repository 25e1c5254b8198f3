import { Checkbox, Stack, TextInput, type TextInputProps } from '@mantine/core';
import { useState } from 'react';
import { type Alerts } from '../../../shared/api/operations';
import { ALERT_LABELS } from '../destination/conflict';
import { SecretField } from '../destination/fields';
import { type Read, SaveButton, Unsaved, useSaving } from '../destination/save';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { call, useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { useMay } from '../lib/session';
import { type AlertsDraft, alertsDraftOf, alertsPatch, alertsProblems } from './draft';
import { text } from '../texts';

const words = text.alerts.alertsForm;

interface Props {
  alerts: Alerts;
  etag: string;
  onSaved: (answer: Read<Alerts>) => void;
}

/** The rules of alerts, and the URLs that receive them. */
export function AlertsForm({ alerts, etag, onSaved }: Props) {
  const admin = useMay('PATCH /alerts');
  const [draft, setDraft] = useState(() => alertsDraftOf(alerts));
  const saving = useSaving(useChange('PATCH /alerts', { onDone: onSaved }), () =>
    call('GET /alerts', {}),
  );
  const patch = alertsPatch(alerts, draft);
  const own = admin ? alertsProblems(draft) : new Map<string, string>();
  const problems = new Map([...fieldProblems(saving.error), ...own]);
  const changed = Object.keys(patch).length > 0;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        saving.send(patch, etag);
      }}
    >
      <fieldset className="bare" disabled={!admin}>
        <Stack>
          <Rules draft={draft} onChange={setDraft} problems={problems} />
          <WebhooksEditor
            show="both"
            least={0}
            formats
            disabled={!admin}
            webhooks={draft.webhooks}
            onChange={(webhooks) => setDraft({ ...draft, webhooks })}
            problems={problems}
          />
          <TextInput
            label={words.email}
            description={words.emailHint}
            value={draft.email}
            onChange={(event) => setDraft({ ...draft, email: event.target.value })}
            error={emailProblem(problems)}
          />
          {admin && (
            <SecretField
              value={draft.sharedSecret}
              onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
              problem={problems.get('sharedSecret')}
              has={alerts.hasSharedSecret}
            />
          )}
          <Unsaved
            saving={saving}
            names={ALERT_LABELS}
            before={alerts}
            patch={patch}
            what={words.saveTask}
            onDrop={onSaved}
          />
          {admin && !saving.theirs && (
            <SaveButton busy={saving.busy} changed={changed} problem={[...own.values()][0]} />
          )}
        </Stack>
      </fieldset>
    </form>
  );
}

/** The API names a bad address by its place in the list. */
function emailProblem(problems: ReadonlyMap<string, string>): string | undefined {
  return [...problems].find(([field]) => field === 'email' || field.startsWith('email/'))?.[1];
}

const FIELD_ORDER: NonNullable<TextInputProps['inputWrapperOrder']> = [
  'label',
  'input',
  'description',
  'error',
];

interface RulesProps {
  draft: AlertsDraft;
  onChange: (draft: AlertsDraft) => void;
  problems: ReadonlyMap<string, string>;
}

function Rules({ draft, onChange, problems }: RulesProps) {
  const field = (name: 'failingFor' | 'deadLettersEvery' | 'switchOffAfter') => ({
    value: draft[name],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, [name]: event.target.value.trim() }),
    error: problems.get(name),
    // Beside each other the inputs stand in one line, however long their hints are.
    inputWrapperOrder: FIELD_ORDER,
  });
  const isToNobody = draft.webhooks.length === 0 && draft.email === '';
  return (
    <>
      <div className="filters">
        <TextInput
          label={words.failingAfter}
          description={words.failingAfterHint}
          {...field('failingFor')}
        />
        <TextInput
          label={words.deadLettersEvery}
          description={words.deadLettersEveryHint}
          {...field('deadLettersEvery')}
        />
        <TextInput
          label={words.disableAfterFailing}
          description={words.disableAfterFailingHint}
          {...field('switchOffAfter')}
        />
      </div>
      <Checkbox
        label={words.sendAlerts}
        description={isToNobody ? words.sendAlertsToNobody : words.sendAlertsHint}
        // Without a receiver none is sent, whatever the stored choice.
        checked={draft.enabled && !isToNobody}
        disabled={isToNobody}
        onChange={(event) => onChange({ ...draft, enabled: event.target.checked })}
      />
    </>
  );
}
