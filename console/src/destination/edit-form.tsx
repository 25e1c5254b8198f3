import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { type Destination } from '../../../shared/api/operations';
import { call, useChange, useNames } from '../lib/api';
import { fieldProblems, isStale } from '../lib/problems';
import { useMay } from '../lib/session';
import { Failure, Table } from '../ui/ui';
import { type Difference, differences } from './conflict';
import { draftOf, type Patch, patchOf, problemsOf, type WebhookDraft } from './draft';
import { NameField, RateField, SecretField, SourcesField, TypesField } from './fields';
import { WebhooksEditor } from './webhooks-editor';

/** A destination's settings. What somebody else changed meanwhile is shown, and nothing of it is overwritten unseen. */

type Read = { data: Destination; etag: string | undefined };

interface Props {
  destination: Destination;
  etag: string;
  onSaved: (answer: Read) => void;
  disabled: boolean;
}

export function EditForm({ destination, etag, onSaved, disabled }: Props) {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const admin = useMay('admin');
  const patch = patchOf(destination, draft);
  const { save, theirs, send } = useSave(destination.id, patch, onSaved);
  // Who may not change URLs cannot mend them either.
  const own = new Map([...problemsOf(draft)].filter(([field]) => admin || !field.startsWith('webhooks/')));
  const changed = Object.keys(patch).length > 0;
  const problems = new Map([...fieldProblems(save.error), ...own]);
  const fields = { draft, onChange: setDraft, problems };
  const setWebhooks = (webhooks: WebhookDraft[]) => setDraft({ ...draft, webhooks });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send(etag);
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
          {admin && <SecretField {...fields} has={destination.hasSharedSecret} />}
          <TypesField {...fields} />
          <RateField {...fields} />
          {theirs && (
            <Conflict
              before={destination}
              theirs={theirs}
              patch={patch}
              onMine={() => send(theirs.etag ?? '')}
              onTheirs={() => onSaved(theirs)}
            />
          )}
          {save.error && !isStale(save.error) && <Failure error={save.error} what="saving" />}
          {!disabled && !theirs && (
            <Group>
              <Button type="submit" loading={save.isPending} disabled={!changed || own.size > 0}>
                Save
              </Button>
              {!changed && <Text size="sm">Nothing is changed yet.</Text>}
            </Group>
          )}
        </Stack>
      </fieldset>
    </form>
  );
}

/** Saves, or, where somebody else was quicker, reads what they have made of it. */
function useSave(id: string, body: Patch, onSaved: (answer: Read) => void) {
  const [theirs, setTheirs] = useState<Read>();
  const save = useChange('PATCH /destinations/{id}', { onDone: onSaved });
  const send = (ifMatch: string) => {
    const onError = (error: Error) => {
      if (isStale(error)) void call('GET /destinations/{id}', { id }).then(setTheirs, () => undefined);
    };
    save.mutate({ id, body, ifMatch }, { onError });
  };
  return { save, theirs, send };
}

interface ConflictProps {
  before: Destination;
  theirs: Read;
  patch: Patch;
  onMine: () => void;
  onTheirs: () => void;
}

/** What to do when somebody else was quicker: see both, and choose. */
function Conflict({ before, theirs, patch, onMine, onTheirs }: ConflictProps) {
  const found = differences(before, theirs.data, patch);
  const both = found.some(({ mine, before: was, theirs: now }) => mine !== undefined && was !== now);
  return (
    <Alert color="yellow" title="Somebody else has changed this destination meanwhile" role="alert">
      <Stack>
        <Text size="sm">Nothing of yours is saved yet, and nothing of theirs is lost.</Text>
        <Table label="What was changed" head={['Field', 'Before', 'Now (theirs)', 'Yours']}>
          {found.map((difference) => (
            <Row key={difference.field} of={difference} />
          ))}
        </Table>
        <Group>
          <Button onClick={onMine}>
            {both ? 'Save mine where both changed, keep the rest of theirs' : 'Save mine, and keep theirs'}
          </Button>
          <Button variant="default" onClick={onTheirs}>
            Drop mine, go on with theirs
          </Button>
        </Group>
      </Stack>
    </Alert>
  );
}

function Row({ of: { field, name, before, theirs, mine } }: { of: Difference }) {
  const names = useNames('sources');
  const say = (text: string) =>
    field === 'sources'
      ? text
          .split(', ')
          .map((id) => names.get(id) ?? id)
          .join(', ')
      : text;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="break">{say(before)}</td>
      <td className="break">{say(theirs)}</td>
      <td className="break">{mine === undefined ? 'unchanged' : say(mine)}</td>
    </tr>
  );
}
