import { Stack } from '@mantine/core';
import { type ReactNode } from 'react';
import { type Destination } from '../../../shared/api/operations';
import { useIsAdmin } from '../lib/session';
import { DESTINATION_LABELS } from './conflict';
import { proxyChanges, type Draft } from './draft';
import { type FieldProps, NameField, SecretField, SourcesField } from './fields';
import { PlainFields } from './plain-fields';
import { BatchSection, ProxySection, RetrySection } from './plan-sections';
import { RequestSection } from './request-section';
import { type Read, SaveButton, Unsaved } from './save';
import { SignatureSection } from './signature-section';
import { useDestinationForm } from './use-form';
import { WebhooksEditor } from './webhooks-editor';
import { text } from '../texts';

const words = text.endpoint.editForm;

/** A destination's settings. */

interface Props {
  destination: Destination;
  etag: string;
  onSaved: (response: Read) => void;
  /** the page changes something beside the form */
  onBeside: (response: Read) => void;
  disabled: boolean;
}

export function EditForm({ destination, etag, onSaved, onBeside, disabled }: Props) {
  const { draft, setDraft, patch, changed, save, own, fields } = useDestinationForm(
    destination,
    onSaved,
  );
  const admin = useIsAdmin();
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.send(patch, etag);
      }}
    >
      <Stack>
        <Main disabled={disabled}>
          <NameField {...fields} />
          <SourcesField {...fields} />
          <WebhooksEditor
            show="both"
            disabled={!admin}
            webhooks={draft.webhooks}
            onChange={(webhooks) => set({ webhooks })}
            problems={fields.problems}
            proxyChanges={proxyChanges(draft)}
          />
          {admin && (
            <SecretField
              value={draft.sharedSecret}
              onChange={(sharedSecret) => set({ sharedSecret })}
              problem={fields.problems.get('sharedSecret')}
              has={destination.hasSharedSecret}
            />
          )}
          <PlainFields {...fields} />
        </Main>
        <Sections
          fields={fields}
          set={set}
          destination={destination}
          etag={etag}
          onBeside={onBeside}
          disabled={disabled}
        />
        <Unsaved
          saving={save}
          names={DESTINATION_LABELS}
          before={destination}
          patch={patch}
          what={words.saveTask}
          onDrop={onSaved}
        />
        {!disabled && !save.theirs && (
          <SaveButton busy={save.busy} changed={changed} problem={[...own.values()][0]} />
        )}
      </Stack>
    </form>
  );
}

function Main({ disabled, children }: { disabled: boolean; children: ReactNode }) {
  return (
    <fieldset className="bare" disabled={disabled}>
      <Stack>{children}</Stack>
    </fieldset>
  );
}

interface SectionsProps extends Omit<Props, 'onSaved'> {
  fields: FieldProps;
  set: (part: Partial<Draft>) => void;
}

/** The settings that few destinations need. */
function Sections({ fields, set, destination, etag, onBeside, disabled }: SectionsProps) {
  const admin = useIsAdmin();
  return (
    <div>
      <RequestSection {...fields} hasSecret={destination.hasSharedSecret} disabled={disabled} />
      <fieldset className="bare" disabled={disabled || !admin}>
        <SignatureSection
          destination={destination}
          etag={etag}
          problems={fields.problems}
          onRotated={onBeside}
          signature={fields.draft.signature}
          onChange={(signature) => set({ signature })}
        />
      </fieldset>
      <fieldset className="bare" disabled={disabled}>
        <BatchSection {...fields} />
        <RetrySection {...fields} />
      </fieldset>
      <fieldset className="bare" disabled={disabled || !admin}>
        <ProxySection {...fields} />
      </fieldset>
    </div>
  );
}
