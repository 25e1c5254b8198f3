import { Alert, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { type Audience, type ComputedTrait } from '../../../shared/api/operations';
import { AUDIENCE_LABELS, type FieldNames, TRAIT_LABELS } from '../destination/conflict';
import { type Read, SaveButton, type Saving, Unsaved, useSaving } from '../destination/save';
import { call, useChange } from '../lib/api';
import { fieldProblems } from '../lib/problems';
import { AudienceForm, useCounting } from './audience-form';
import {
  type AudiencePatch,
  audienceDraftOf,
  audiencePatch,
  audienceProblems,
  countsAnew,
  type TraitPatch,
  traitDraftOf,
  traitPatch,
  traitProblems,
} from './draft';
import { rowsOf } from './rows-from-cel';
import { TraitForm } from './trait-form';
import { text } from '../texts';

const words = text.audience.edit;

/** The settings of an audience or a computed trait. */

export interface EditProps<T> {
  entry: T;
  etag: string;
  onSaved: (answer: Read<T>) => void;
  disabled: boolean;
}

export function EditAudience({ entry: audience, etag, onSaved, disabled }: EditProps<Audience>) {
  const { id, condition } = audience;
  const [draft, setDraft] = useState(() => audienceDraftOf(audience, rowsOf(condition ?? '')));
  const change = useChange('PATCH /audiences/{id}', { onDone: onSaved });
  const saving: Saving<Audience, AudiencePatch> = useSaving(
    { ...change, mutate: (input, on) => change.mutate({ ...input, id }, on) },
    () => call('GET /audiences/{id}', { id }),
  );
  const patch = audiencePatch(audience, draft);
  const own = audienceProblems(draft);
  const counting = useCounting(draft, countsAnew(patch));
  const problem = [...own.values()][0] ?? counting.mistake;
  const shown = { saving, patch, problem, before: audience, names: AUDIENCE_LABELS };
  return (
    <Form disabled={disabled} onSubmit={() => saving.send(patch, etag)}>
      <AudienceForm
        draft={draft}
        onChange={setDraft}
        problems={new Map([...fieldProblems(saving.error), ...own])}
        stored={audience.key}
        counting={counting}
      >
        <End {...shown} disabled={disabled} onDrop={onSaved} />
      </AudienceForm>
    </Form>
  );
}

export function EditTrait({ entry: trait, etag, onSaved, disabled }: EditProps<ComputedTrait>) {
  const { id } = trait;
  const [draft, setDraft] = useState(() => traitDraftOf(trait));
  const change = useChange('PATCH /computed-traits/{id}', { onDone: onSaved });
  const saving: Saving<ComputedTrait, TraitPatch> = useSaving(
    { ...change, mutate: (input, on) => change.mutate({ ...input, id }, on) },
    () => call('GET /computed-traits/{id}', { id }),
  );
  const patch = traitPatch(trait, draft);
  const own = traitProblems(draft);
  const shown = {
    saving,
    patch,
    problem: [...own.values()][0],
    before: trait,
    names: TRAIT_LABELS,
  };
  return (
    <Form disabled={disabled} onSubmit={() => saving.send(patch, etag)}>
      <TraitForm
        draft={draft}
        onChange={setDraft}
        problems={new Map([...fieldProblems(saving.error), ...own])}
        stored={trait.key}
      >
        <End {...shown} disabled={disabled} onDrop={onSaved} />
      </TraitForm>
    </Form>
  );
}

function Form({
  disabled,
  onSubmit,
  children,
}: {
  disabled: boolean;
  onSubmit: () => void;
  children: ReactNode;
}) {
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      <fieldset className="bare" disabled={disabled}>
        {children}
      </fieldset>
    </form>
  );
}

interface EndProps<T, P> {
  saving: Saving<T, P>;
  patch: P;
  problem: string | undefined;
  before: T;
  names: FieldNames;
  disabled: boolean;
  onDrop: (theirs: Read<T>) => void;
}

/** The consequence of saving, the error, and the button. */
function End<T extends object, P extends object>(props: EndProps<T, P>) {
  const { saving, patch, problem, before, names, disabled, onDrop } = props;
  return (
    <Stack>
      {countsAnew(patch) && (
        <Alert color="blue" title={words.countingStartsOver}>
          <Text size="sm">{words.countingStartsOverHint}</Text>
        </Alert>
      )}
      <Unsaved
        saving={saving}
        names={names}
        before={before}
        patch={patch}
        what={words.saveTask}
        onDrop={onDrop}
      />
      {!disabled && !saving.theirs && (
        <SaveButton busy={saving.busy} changed={Object.keys(patch).length > 0} problem={problem} />
      )}
    </Stack>
  );
}
