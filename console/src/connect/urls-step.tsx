import { Button, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { creationOf, emptyDraft, problemsOf } from '../destination/draft';
import { type FieldProps, NameField, SecretField } from '../destination/fields';
import { RequestSection } from '../destination/request-section';
import { WebhooksEditor } from '../destination/webhooks-editor';
import { useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { newSecret } from '../lib/secret';
import { Failure } from '../ui/ui';
import { useUnsaved } from '../ui/unsaved';
import { text } from '../texts';

const words = text.connect.urlsStep;

/** Enters up to five URLs. This step stores the destination disabled, so that it can be tested. */
export function UrlsStep({ sources }: { sources: string[] }) {
  const [secret] = useState(newSecret);
  const [draft, setDraft] = useState(() => ({ ...emptyDraft(sources), sharedSecret: secret }));
  const navigate = useNavigate();
  const saved = useUnsaved(draft.webhooks.some(({ url }) => url !== ''));
  const make = useChange('POST /destinations', {
    onDone: ({ data }) => {
      saved();
      void navigate(`/connect/${data.id}/test`);
    },
  });
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
        <Text>{words.hint}</Text>
        <UrlsFields draft={draft} onChange={setDraft} problems={problems} hasSecret={false} />
        {/* Before the test, so that a receiver that verifies signatures accepts it. */}
        <SecretField
          generated={secret}
          value={draft.sharedSecret}
          onChange={(sharedSecret) => setDraft({ ...draft, sharedSecret })}
          problem={problems.get('sharedSecret')}
          has={false}
        />
        {make.error && <Failure error={make.error} what={words.createTask} />}
        <Button type="submit" className="start" loading={make.isPending} disabled={own.size > 0}>
          {words.saveAndContinue}
        </Button>
        <Text size="sm">{words.savedDisabled}</Text>
      </Stack>
    </form>
  );
}

/**
 * The fields of this step, before the destination is stored and afterwards. They decide how a test
 * ends.
 */
export function UrlsFields({ hasSecret, ...fields }: FieldProps & { hasSecret: boolean }) {
  const { draft, onChange, problems } = fields;
  return (
    <>
      <NameField {...fields} />
      <WebhooksEditor
        // Stored values of headers may have to be entered again, for another host.
        show={draft.webhooks.some(({ headers }) => headers.length > 0) ? 'both' : 'urls'}
        webhooks={draft.webhooks}
        onChange={(webhooks) => onChange({ ...draft, webhooks })}
        problems={problems}
      />
      <RequestSection {...fields} hasSecret={hasSecret} />
    </>
  );
}
