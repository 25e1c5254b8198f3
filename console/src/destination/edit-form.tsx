import { Stack } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { useIsAdmin } from '../lib/session';
import { DESTINATION_FIELDS } from './conflict';
import { proxyChanges, type Draft } from './draft';
import { FilterField } from './filter-field';
import { type FieldProps, NameField, RateField, SecretField, SourcesField, SwitchOffField, TypesField } from './fields';
import { BatchSection, ProxySection, RetrySection } from './plan-sections';
import { RequestSection } from './request-section';
import { type Read, SaveButton, Unsaved } from './save';
import { SignatureSection } from './signature-section';
import { useDestinationForm } from './use-form';
import { WebhooksEditor } from './webhooks-editor';

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
  const { draft, setDraft, patch, changed, save, own, fields } = useDestinationForm(destination, onSaved);
  const admin = useIsAdmin();
  const set = (part: Partial<Draft>) => setDraft({ ...draft, ...part });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.send(patch, etag);
      }}
    >
      <fieldset className="bare" disabled={disabled}>
        <Stack>
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
          <TypesField {...fields} />
          <FilterField {...fields} />
          <RateField {...fields} />
          <Sections {...{ fields, set, destination, etag, onBeside, admin }} />
          <SwitchOffField {...fields} />
          <Unsaved
            saving={save}
            names={DESTINATION_FIELDS}
            before={destination}
            patch={patch}
            what="save"
            onDrop={onSaved}
          />
          {!disabled && !save.theirs && (
            <SaveButton busy={save.busy} changed={changed} problem={[...own.values()][0]} />
          )}
        </Stack>
      </fieldset>
    </form>
  );
}

interface SectionsProps extends Pick<Props, 'destination' | 'etag' | 'onBeside'> {
  fields: FieldProps;
  set: (part: Partial<Draft>) => void;
  admin: boolean;
}

/** The settings that few destinations need. */
function Sections({ fields, set, destination, etag, onBeside, admin }: SectionsProps) {
  return (
    <div>
      <RequestSection {...fields} hasSecret={destination.hasSharedSecret} />
      <fieldset className="bare" disabled={!admin}>
        <SignatureSection
          {...{ destination, etag, problems: fields.problems, onRotated: onBeside }}
          signature={fields.draft.signature}
          onChange={(signature) => set({ signature })}
        />
      </fieldset>
      <BatchSection {...fields} />
      <RetrySection {...fields} />
      <fieldset className="bare" disabled={!admin}>
        <ProxySection {...fields} />
      </fieldset>
    </div>
  );
}
