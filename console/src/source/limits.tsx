import { Button, Group, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Source } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { useMay } from '../lib/session';
import { Failure, Section } from '../ui/ui';
import { type LimitsDraft, limitsBody, limitsDraft, limitsProblems } from './limits-draft';

/** How much a source may send, and whether its write key is public. */
export function SourceLimits({ source, etag }: { source: Source; etag: string }) {
  const [draft, setDraft] = useState<LimitsDraft>(() => limitsDraft(source));
  const operator = useMay('PATCH /sources/{id}');
  const change = useChange('PATCH /sources/{id}');
  const unsent = limitsProblems(draft);
  const problems = unsent.size > 0 ? unsent : fieldProblems(change.error);
  const field = (name: 'maxPerSecond' | 'maxBytesPerSecond' | 'burst', label: string, description: string) => (
    <TextInput
      label={label}
      description={description}
      value={draft[name]}
      onChange={(event) => setDraft({ ...draft, [name]: event.target.value.trim() })}
      error={problems.get(`limits/${name}`)}
      disabled={!operator}
    />
  );
  return (
    <Section title="Limits and trust">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (unsent.size > 0) return;
          change.mutate({ id: source.id, ifMatch: etag, body: limitsBody(draft) });
        }}
      >
        <Stack gap="sm">
          <Group align="flex-end">
            {field('maxPerSecond', 'Calls a second', 'Empty: the default. Beyond it: 429')}
            {field('maxBytesPerSecond', 'Bytes a second', 'Of bodies, decompressed. Empty: the default')}
            {field('burst', 'Burst', 'Saved up while it is quiet: 10s')}
            <NativeSelect
              label="Write key"
              description="Known to servers alone, or public"
              data={[
                { value: 'server', label: 'server: secret' },
                { value: 'browser', label: 'browser: public' },
              ]}
              value={draft.trust}
              onChange={(event) =>
                setDraft({ ...draft, trust: event.target.value === 'browser' ? 'browser' : 'server' })
              }
              disabled={!operator}
            />
            {operator && (
              <Button type="submit" loading={change.isPending}>
                Save the limits
              </Button>
            )}
          </Group>
          {change.error && <Failure error={change.error} what="the limits" />}
        </Stack>
      </form>
    </Section>
  );
}
