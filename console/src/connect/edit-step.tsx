import { Button, Group, Stack } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { DESTINATION_FIELDS } from '../destination/conflict';
import { draftOf, patchOf, problemsOf } from '../destination/draft';
import { NameField, SourcesField } from '../destination/fields';
import { type Read, Unsaved, useSaveDestination } from '../destination/save';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { fieldProblems } from '../lib/problems';
import { LinkButton } from '../ui/ui';
import { useUnsaved } from '../ui/unsaved';

interface Props {
  destination: Destination;
  etag: string;
  part: 'sources' | 'urls';
}

/** An earlier step, visited again: changes the sources, or the name and the URLs, of the stored destination. */
export function EditStep(stored: Props) {
  // The form keeps its initial version: changes by others appear as a conflict, never silently.
  const [begun, setBegun] = useState({ ...stored, times: 0 });
  const restart = ({ data, etag = '' }: Read) =>
    setBegun(({ times }) => ({ ...stored, destination: data, etag, times: times + 1 }));
  return <Form key={`${stored.part}-${begun.times}`} {...begun} part={stored.part} onDrop={restart} />;
}

function Form({ destination, etag, part, onDrop }: Props & { onDrop: (theirs: Read) => void }) {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const navigate = useNavigate();
  const patch = patchOf(destination, draft);
  const saved = useUnsaved(Object.keys(patch).length > 0);
  const next = `/connect/${destination.id}/test`;
  const on = () => {
    saved();
    void navigate(next);
  };
  const save = useSaveDestination(destination.id, on);
  const own = problemsOf(draft);
  const problems = new Map([...fieldProblems(save.error), ...own]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (Object.keys(patch).length === 0) on();
        else save.send(patch, etag);
      }}
    >
      <Stack>
        {part === 'sources' ? (
          <SourcesField draft={draft} onChange={setDraft} problems={problems} />
        ) : (
          <>
            <NameField draft={draft} onChange={setDraft} problems={problems} />
            <WebhooksEditor
              show="urls"
              webhooks={draft.webhooks}
              onChange={(webhooks) => setDraft({ ...draft, webhooks })}
              problems={problems}
            />
          </>
        )}
        <Unsaved
          saving={save}
          names={DESTINATION_FIELDS}
          before={destination}
          patch={patch}
          what="save the changes"
          onDrop={onDrop}
        />
        {!save.theirs && (
          <Group>
            <Button type="submit" loading={save.busy} disabled={own.size > 0}>
              Save and test
            </Button>
            <LinkButton to={next}>Cancel</LinkButton>
          </Group>
        )}
      </Stack>
    </form>
  );
}
