import { Stack } from '@mantine/core';
import { useState } from 'react';
import { type Destination } from '../../../shared/api/operations';
import { fieldProblems } from '../lib/problems';
import { useIsAdmin } from '../lib/session';
import { DESTINATION_FIELDS } from './conflict';
import { draftOf, patchOf, problemsOf, type WebhookDraft } from './draft';
import { FilterField } from './filter-field';
import { BatchField, NameField, RateField, SecretField, SourcesField, SwitchOffField, TypesField } from './fields';
import { type Read, SaveButton, Unsaved, useSaveDestination } from './save';
import { WebhooksEditor } from './webhooks-editor';

/** A destination's settings. */

interface Props {
  destination: Destination;
  etag: string;
  onSaved: (response: Read) => void;
  disabled: boolean;
}

export function EditForm({ destination, etag, onSaved, disabled }: Props) {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const admin = useIsAdmin();
  const patch = patchOf(destination, draft);
  const save = useSaveDestination(destination.id, onSaved);
  // Users without the right to change URLs cannot fix them either.
  const own = new Map([...problemsOf(draft)].filter(([field]) => admin || !field.startsWith('webhooks/')));
  const changed = Object.keys(patch).length > 0;
  const problems = new Map([...fieldProblems(save.error), ...own]);
  const fields = { draft, onChange: setDraft, problems };
  const setWebhooks = (webhooks: WebhookDraft[]) => setDraft({ ...draft, webhooks });
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
            onChange={setWebhooks}
            problems={problems}
          />
          {admin && (
            <SecretField
              value={draft.sharedSecret}
              onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
              problem={problems.get('sharedSecret')}
              has={destination.hasSharedSecret}
            />
          )}
          <TypesField {...fields} />
          <FilterField {...fields} />
          <RateField {...fields} />
          <BatchField {...fields} />
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
