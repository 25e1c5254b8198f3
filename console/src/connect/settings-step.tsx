import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { DESTINATION_FIELDS } from '../destination/conflict';
import { draftOf, patchOf, problemsOf } from '../destination/draft';
import { FilterField } from '../destination/filter-field';
import { RateField, SecretField, TypesField } from '../destination/fields';
import { type Read, Unsaved, useSaveDestination } from '../destination/save';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { fieldProblems } from '../lib/problems';
import { useUnsaved } from '../ui/unsaved';

interface Props {
  destination: Destination;
  etag: string;
}

/** Headers, secret, types and rate. The user can skip each. */
export function SettingsStep(stored: Props) {
  // The form keeps its initial version: changes by others appear as a conflict, never silently.
  const [begun, setBegun] = useState({ ...stored, times: 0 });
  const restart = ({ data, etag = '' }: Read) =>
    setBegun(({ times }) => ({ destination: data, etag, times: times + 1 }));
  return <Form key={begun.times} {...begun} onDrop={restart} />;
}

function Form({ destination, etag, onDrop }: Props & { onDrop: (theirs: Read) => void }) {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const navigate = useNavigate();
  const patch = patchOf(destination, draft);
  const saved = useUnsaved(Object.keys(patch).length > 0);
  const on = () => {
    saved();
    void navigate(`/connect/${destination.id}/switch`);
  };
  const save = useSaveDestination(destination.id, on);
  const own = problemsOf(draft);
  const problems = new Map([...fieldProblems(save.error), ...own]);
  const fields = { draft, onChange: setDraft, problems };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (Object.keys(patch).length === 0) on();
        else save.send(patch, etag);
      }}
    >
      <Stack>
        <Text>These settings are optional. You can change them later.</Text>
        <SecretField
          value={draft.sharedSecret}
          onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
          problem={problems.get('sharedSecret')}
          has={destination.hasSharedSecret}
        />
        <WebhooksEditor
          show="headers"
          webhooks={draft.webhooks}
          onChange={(webhooks) => setDraft({ ...draft, webhooks })}
          problems={problems}
        />
        <TypesField {...fields} />
        <FilterField {...fields} />
        <RateField {...fields} />
        <Unsaved
          saving={save}
          names={DESTINATION_FIELDS}
          before={destination}
          patch={patch}
          what="save the settings"
          onDrop={onDrop}
        />
        {!save.theirs && (
          <Button type="submit" className="start" loading={save.busy} disabled={own.size > 0}>
            Continue
          </Button>
        )}
      </Stack>
    </form>
  );
}
