import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { creationOf, emptyDraft, problemsOf } from '../destination/draft';
import { NameField } from '../destination/fields';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { Failure } from '../ui/ui';

/** Enters up to five URLs. This step stores the destination disabled, so that it can be tested. */
export function UrlsStep({ sources }: { sources: string[] }) {
  const [draft, setDraft] = useState(() => emptyDraft(sources));
  const navigate = useNavigate();
  const make = useChange('POST /destinations', { onDone: ({ data }) => void navigate(`/connect/${data.id}/test`) });
  const own = problemsOf(draft);
  const problems = new Map([...fieldProblems(make.error), ...own]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: creationOf(draft) });
      }}
    >
      <Stack>
        <Text>
          Each message is sent to all of these URLs in parallel, as an HTTP POST. It is delivered when one of them
          accepts it.
        </Text>
        <NameField draft={draft} onChange={setDraft} problems={problems} />
        <WebhooksEditor
          show="urls"
          webhooks={draft.webhooks}
          onChange={(webhooks) => setDraft({ ...draft, webhooks })}
          problems={problems}
        />
        {make.error && <Failure error={make.error} what="the new destination" />}
        <Button type="submit" className="start" loading={make.isPending} disabled={own.size > 0}>
          Save and continue
        </Button>
        <Text size="sm">The destination is stored switched off. Nothing is sent until you switch it on.</Text>
      </Stack>
    </form>
  );
}
