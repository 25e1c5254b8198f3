import { Stack } from '@mantine/core';
import { type ReactNode } from 'react';
import { fieldProblems } from '../lib/problems';
import { ConditionField } from './condition-field';
import { type AudienceDraft, conditionOf } from './draft';
import { DestinationsField, NameField, SourcesField, SyncField } from './fields';
import { PreviewView } from './preview';
import { usePreview } from './use-preview';
import { useSeen } from './use-seen';

/** The fields of an audience with a preview beside them: of a new one, and of one that is there. */

interface Props {
  draft: AudienceDraft;
  onChange: (draft: AudienceDraft) => void;
  problems: ReadonlyMap<string, string>;
  /** the trait of one that is there already */
  stored?: string;
  /** what stands at the end: what went wrong, and the button */
  children: ReactNode;
}

export function AudienceForm({ draft, onChange, problems, stored, children }: Props) {
  const seen = useSeen(draft.sources);
  const condition = draft.by === 'condition' ? conditionOf(draft) : undefined;
  const previewing = usePreview(condition, draft.sources);
  // The preview checks the condition, and says where its mistake is: it belongs to the field.
  const said = fieldProblems(previewing.error).get('condition');
  const mistake = said ?? (condition === undefined ? undefined : problems.get('condition'));
  const fields = { draft, onChange, problems };
  return (
    <div className={draft.by === 'condition' ? 'beside' : undefined}>
      <Stack>
        <NameField {...fields} {...(stored !== undefined && { stored })} />
        {draft.by === 'condition' && (
          <ConditionField draft={draft} onChange={onChange} seen={seen} mistake={mistake && sentence(mistake)} />
        )}
        {draft.by === 'condition' && <SourcesField {...fields} />}
        <DestinationsField {...fields} />
        <SyncField {...fields} />
        {children}
      </Stack>
      {draft.by === 'condition' && (
        <PreviewView asked={condition !== undefined && said === undefined} previewing={previewing} />
      )}
    </div>
  );
}

/** `line 1, column 7: …` → `Line 1, …` */
function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
