import { NativeSelect, Stack, TextInput } from '@mantine/core';
import { type ReactNode } from 'react';
import { COMPUTES } from '../../../shared/model/audience-definition';
import { Suggested } from '../ui/suggested';
import { needsProperty, type TraitDraft } from './draft';
import { DestinationsField, NameField, SourcesField, SyncField } from './fields';
import { useEventNames } from './use-event-names';
import { COMPUTE_WORDS } from './labels';
import { text } from '../texts';

const words = text.audience.traitForm;

/** The fields of a new or existing computed trait. */

interface Props {
  draft: TraitDraft;
  onChange: (draft: TraitDraft) => void;
  problems: ReadonlyMap<string, string>;
  /** the trait of an existing entry */
  stored?: string;
  children: ReactNode;
}

export function TraitForm({ draft, onChange, problems, stored, children }: Props) {
  const seen = useEventNames(draft.sources);
  const fields = { draft, onChange, problems };
  const problemOf = (field: 'event' | 'property') =>
    draft[field] === '' ? undefined : problems.get(field);
  return (
    <Stack>
      <NameField {...fields} {...(stored !== undefined && { stored })} />
      <fieldset className="rule">
        <legend>{words.valueOfUser}</legend>
        <div className="filters">
          <NativeSelect
            label={words.value}
            data={COMPUTES.map((value) => ({ value, label: COMPUTE_WORDS[value] }))}
            value={draft.compute}
            onChange={(event) =>
              onChange({ ...draft, compute: event.target.value as TraitDraft['compute'] })
            }
          />
          <Suggested
            label={words.eventName}
            options={seen.events}
            value={draft.event}
            onChange={(event) => onChange({ ...draft, event })}
            error={problemOf('event')}
          />
          {draft.compute !== 'count' && (
            <Suggested
              label={words.property}
              description={needsProperty(draft.compute) ? undefined : words.propertyHint}
              options={seen.propertiesOf(draft.event.trim())}
              value={draft.property}
              onChange={(property) => onChange({ ...draft, property })}
              error={problemOf('property')}
            />
          )}
          <TextInput
            label={words.withinLast}
            description={words.withinLastHint}
            value={draft.window}
            onChange={(event) => onChange({ ...draft, window: event.target.value.trim() })}
            error={problems.get('window')}
          />
        </div>
      </fieldset>
      <SourcesField {...fields} />
      <DestinationsField {...fields} />
      <SyncField {...fields} />
      {children}
    </Stack>
  );
}
