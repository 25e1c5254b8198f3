import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { draftOf, patchOf, problemsOf } from '../destination/draft';
import { RateField, SecretField, TypesField } from '../destination/fields';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { Failure } from '../ui/ui';

/** How: headers, secret, types and rate. Each may be left as it is. */
export function SettingsStep({ destination, etag }: { destination: Destination; etag: string }) {
  const [draft, setDraft] = useState(() => draftOf(destination));
  const navigate = useNavigate();
  const on = () => void navigate(`/connect/${destination.id}/switch`);
  const save = useChange('PATCH /destinations/{id}', { onDone: on });
  const own = problemsOf(draft);
  const problems = new Map([...fieldProblems(save.error), ...own]);
  const fields = { draft, onChange: setDraft, problems };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const body = patchOf(destination, draft);
        if (Object.keys(body).length === 0) on();
        else save.mutate({ id: destination.id, body, ifMatch: etag });
      }}
    >
      <Stack>
        <Text>All of this may stay as it is, and can be changed at any time.</Text>
        <SecretField {...fields} has={destination.hasSharedSecret} />
        <WebhooksEditor
          show="headers"
          webhooks={draft.webhooks}
          onChange={(webhooks) => setDraft({ ...draft, webhooks })}
          problems={problems}
        />
        <TypesField {...fields} />
        <RateField {...fields} />
        {save.error && <Failure error={save.error} what="these settings" />}
        <Button type="submit" className="start" loading={save.isPending} disabled={own.size > 0}>
          Continue
        </Button>
      </Stack>
    </form>
  );
}
