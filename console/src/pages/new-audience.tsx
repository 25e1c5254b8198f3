import { Button, Radio, Stack, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate, useSearchParams } from 'react-router';
import { AudienceForm, useCounting } from '../audience/audience-form';
import {
  type AudienceDraft,
  audienceBody,
  audienceProblems,
  emptyAudience,
  emptyTrait,
  traitBody,
  traitProblems,
} from '../audience/draft';
import { useNaming } from '../audience/fields';
import { TraitForm } from '../audience/trait-form';
import { useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { useMay } from '../lib/session';
import { AdminsOnly, Failure, Page } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.newAudience;

/** The builders of an audience and of a computed trait. */

const FOR_ADMINS = words.adminsOnly;

export function NewAudience() {
  const [search] = useSearchParams();
  const [draft, setDraft] = useState(() =>
    emptyAudience(search.get('by') === 'list' ? 'list' : 'condition'),
  );
  const navigate = useNavigate();
  const make = useChange('POST /audiences', {
    // A list has no members yet.
    onDone: ({ data }) =>
      void navigate(`/audiences/${data.id}${data.condition === null ? '/members' : ''}`),
  });
  const own = audienceProblems(draft);
  const counting = useCounting(draft, true);
  const naming = useNaming(draft.name);
  if (!useMay('POST /audiences')) {
    return <AdminsOnly title={words.buildAudience}>{FOR_ADMINS}</AdminsOnly>;
  }
  return (
    <Page title={words.buildAudience}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ body: audienceBody(draft) });
        }}
      >
        <Stack>
          <Kind by={draft.by} onChange={(by) => setDraft({ ...draft, by })} />
          <AudienceForm
            counting={counting}
            draft={draft}
            onChange={setDraft}
            problems={new Map([...fieldProblems(make.error), ...own])}
          >
            {make.error && <Failure error={make.error} what={words.createAudienceTask} />}
            <Make
              label={words.createAudience}
              busy={make.isPending}
              problem={naming.problem ?? firstOf(own) ?? counting.mistake}
              then={draft.by === 'list' ? words.uploadNext : words.thenMembers}
            />
          </AudienceForm>
        </Stack>
      </form>
    </Page>
  );
}

function Kind({
  by,
  onChange,
}: {
  by: AudienceDraft['by'];
  onChange: (by: AudienceDraft['by']) => void;
}) {
  return (
    <Radio.Group
      label={words.members}
      value={by}
      onChange={(value) => onChange(value === 'list' ? 'list' : 'condition')}
    >
      <Stack gap="xs" mt="xs">
        <Radio value="condition" label={words.fromCondition} />
        <Radio value="list" label={words.fromList} />
      </Stack>
    </Radio.Group>
  );
}

export function NewTrait() {
  const [draft, setDraft] = useState(emptyTrait);
  const navigate = useNavigate();
  const make = useChange('POST /computed-traits', {
    onDone: ({ data }) => void navigate(`/audiences/traits/${data.id}`),
  });
  const own = traitProblems(draft);
  const naming = useNaming(draft.name);
  if (!useMay('POST /computed-traits')) {
    return <AdminsOnly title={words.computeTrait}>{FOR_ADMINS}</AdminsOnly>;
  }
  return (
    <Page title={words.computeTrait}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          make.mutate({ body: traitBody(draft) });
        }}
      >
        <TraitForm
          draft={draft}
          onChange={setDraft}
          problems={new Map([...fieldProblems(make.error), ...own])}
        >
          {make.error && <Failure error={make.error} what={words.createTraitTask} />}
          <Make
            label={words.createTrait}
            busy={make.isPending}
            problem={naming.problem ?? firstOf(own)}
            then={words.thenValues}
          />
        </TraitForm>
      </form>
    </Page>
  );
}

function Make(props: { label: string; busy: boolean; problem: string | undefined; then: string }) {
  return (
    <Stack gap="xs">
      <Button
        type="submit"
        className="start"
        loading={props.busy}
        disabled={props.problem !== undefined}
      >
        {props.label}
      </Button>
      <Text size="sm">
        {props.problem === undefined ? props.then : words.notYet(props.problem)}
      </Text>
    </Stack>
  );
}

function firstOf(problems: ReadonlyMap<string, string>): string | undefined {
  const [first] = problems.values();
  return first;
}
