import { Stack } from '@mantine/core';
import { type ReactNode } from 'react';
import { fieldProblems } from '../lib/problems';
import { ConditionField } from './condition-field';
import { type AudienceDraft, conditionOf } from './draft';
import { DestinationsField, NameField, SourcesField, SyncField } from './fields';
import { PreviewView } from './preview';
import { type Previewing, usePreview } from './use-preview';
import { useEventNames } from './use-event-names';
import { text } from '../texts';

const words = text.audience.audienceForm;

/** The fields of a new or existing audience, with a preview beside them. */

interface Props {
  draft: AudienceDraft;
  onChange: (draft: AudienceDraft) => void;
  problems: ReadonlyMap<string, string>;
  counting: Counting;
  /** the trait of an existing audience */
  stored?: string;
  /** the end of the form: the error, and the button */
  children: ReactNode;
}

export function AudienceForm({ draft, onChange, problems, counting, stored, children }: Props) {
  const fields = { draft, onChange, problems };
  const name = <NameField {...fields} {...(stored !== undefined && { stored })} />;
  const rest = (
    <Stack>
      {draft.by === 'condition' && <SourcesField {...fields} />}
      <DestinationsField {...fields} />
      <SyncField {...fields} />
      {children}
    </Stack>
  );
  if (draft.by === 'list') {
    return (
      <Stack>
        {name}
        {rest}
      </Stack>
    );
  }
  return (
    <div className="beside">
      <Condition {...fields} counting={counting}>
        {name}
      </Condition>
      {rest}
    </div>
  );
}

/** The condition, with the matching users beside it (on a phone, below it). */
function Condition({ draft, onChange, problems, counting, children }: Omit<Props, 'stored'>) {
  const seenNames = useEventNames(draft.sources);
  const { counted, condition, previewing, mistake } = counting;
  const said = mistake ?? (condition === undefined ? undefined : problems.get('condition'));
  return (
    <>
      <Stack>
        {children}
        <ConditionField draft={draft} onChange={onChange} seenNames={seenNames} mistake={said} />
      </Stack>
      <PreviewView
        asked={counted && condition !== undefined && mistake === undefined}
        previewing={previewing}
        idle={counted ? words.countedWhenComplete : words.countedWhenChanged}
      />
    </>
  );
}

/** The condition of a draft during its preview. */
export interface Counting {
  counted: boolean;
  condition: string | undefined;
  previewing: Previewing;
  /** the mistake in the condition, with its position */
  mistake: string | undefined;
}

/** @param counted starts a preview: for an existing audience, only if its condition differs */
export function useCounting(draft: AudienceDraft, counted: boolean): Counting {
  const condition = draft.by === 'condition' ? conditionOf(draft) : undefined;
  const previewing = usePreview(counted ? condition : undefined, draft.sources);
  // The preview validates the condition and reports the position of a mistake.
  const said = fieldProblems(previewing.error).get('condition');
  return { counted, condition, previewing, mistake: said && sentence(said) };
}

/** `line 1, column 7: …` → `Line 1, …` */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
