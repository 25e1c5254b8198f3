import { Button, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Source } from '../../../shared/api/operations';
import { useChange, useRead } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { sinceOf } from '../lib/series';
import { useMay } from '../lib/session';
import { Failure, Section } from '../ui/ui';
import {
  type LimitsDraft,
  limitsBody,
  limitsDraft,
  limitsProblems,
  sameLimits,
} from './limits-draft';
import { text } from '../texts';

const words = text.source.limits;

/** Sets how much a source may send, and whether its write key is public. */
export function SourceLimits({ source, etag }: { source: Source; etag: string }) {
  // A draft keeps its initial source: a change of the limits by others is a conflict, and is never
  // undone silently.
  const [begun, setBegun] = useState<{ draft: LimitsDraft; source: Source; etag: string }>();
  const operator = useMay('PATCH /sources/{id}');
  const change = useChange('PATCH /sources/{id}', { onDone: () => setBegun(undefined) });
  const { draft, ...start } = begun ?? { draft: limitsDraft(source), source, etag };
  const setDraft = (next: LimitsDraft) => setBegun({ ...start, draft: next });
  const body = limitsBody(draft, start.source);
  const unsent = limitsProblems(draft);
  const problems = unsent.size > 0 ? unsent : fieldProblems(change.error);
  const field = (
    name: 'maxPerSecond' | 'maxBytesPerSecond' | 'burst',
    label: string,
    description: string,
  ) => (
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
    <Section title={words.limitsTrust}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (unsent.size > 0) return;
          // Another part of this page may have changed the source.
          const ifMatch = sameLimits(source, start.source) ? etag : start.etag;
          change.mutate({ id: source.id, ifMatch, body });
        }}
      >
        <Stack gap="sm">
          <div className="filters">
            {field('maxPerSecond', words.callsPerSecond, words.callsPerSecondHint)}
            {field('maxBytesPerSecond', words.bytesPerSecond, words.bytesPerSecondHint)}
            {field('burst', words.burst, words.burstHint)}
            <Trust
              trust={draft.trust}
              onChange={(trust) => setDraft({ ...draft, trust })}
              disabled={!operator}
            />
          </div>
          {operator && (
            <Button
              className="start"
              type="submit"
              loading={change.isPending}
              disabled={Object.keys(body).length === 0}
            >
              {words.saveLimits}
            </Button>
          )}
          {change.error && <Failure error={change.error} what={words.saveTask} />}
          <Limited source={source.id} />
        </Stack>
      </form>
    </Section>
  );
}

interface TrustProps {
  trust: LimitsDraft['trust'];
  onChange: (trust: LimitsDraft['trust']) => void;
  disabled: boolean;
}

/** Chooses whether the write key of a source is secret or public. */
function Trust({ trust, onChange, disabled }: TrustProps) {
  return (
    <NativeSelect
      label={words.sender}
      description={words.senderHint}
      data={[
        { value: 'server', label: words.server },
        { value: 'browser', label: words.browser },
      ]}
      value={trust}
      onChange={(event) => onChange(event.target.value === 'browser' ? 'browser' : 'server')}
      disabled={disabled}
    />
  );
}

const DAY_MS = 86_400_000;
const LOOK_AGAIN_MS = 10_000;

/** Shows how many requests ingest has refused because of the limits. */
function Limited({ source }: { source: string }) {
  const may = useMay('GET /overview/calls');
  const query = { since: sinceOf(DAY_MS, Date.now()) };
  const read = useRead(
    'GET /overview/calls',
    { query },
    { every: LOOK_AGAIN_MS, keep: true, enabled: may },
  );
  const limited = read.data?.data.limitedBySource?.[source] ?? 0;
  if (!read.data || read.error) return null;
  return (
    <Text size="sm" role="status">
      {limited === 0 ? words.noneExceeded : words.exceeded(words.requests(limited))}
    </Text>
  );
}
