import { Checkbox, Fieldset, Stack, Text, TextInput } from '@mantine/core';
import { useAll, useEntries } from '../lib/api';
import { useTelling } from '../lib/sources';
import { EntriesPicker } from '../ui/entry-picker';
import { TextLink } from '../ui/ui';
import { type CommonDraft, namingOf } from './draft';
import { text } from '../texts';

const words = text.audience.fields;

/** Fields that audiences and computed traits share. */

interface Props<D extends CommonDraft> {
  draft: D;
  onChange: (draft: D) => void;
  problems: ReadonlyMap<string, string>;
}

/** @param stored the trait of an existing entry: a new name does not change it */
export function NameField<D extends CommonDraft>({
  draft,
  onChange,
  problems,
  stored,
}: Props<D> & { stored?: string }) {
  const naming = useNaming(draft.name);
  const description =
    stored !== undefined
      ? words.traitRemains(stored)
      : naming.key !== undefined
        ? words.traitNamed(naming.key)
        : words.traitDerives;
  const problem = stored === undefined ? naming.problem : undefined;
  return (
    <TextInput
      label={words.name}
      description={description}
      value={draft.name}
      onChange={(event) => onChange({ ...draft, name: event.target.value })}
      // Show no error for an empty field: the user may not have reached it yet.
      error={problem ?? (draft.name === '' ? undefined : problems.get('name'))}
      required
    />
  );
}

/** The trait that a name yields, compared with existing traits. */
export function useNaming(name: string) {
  const [audiences, traits] = [useAll('audiences'), useAll('computed-traits')];
  return namingOf(name, [...(audiences ?? []), ...(traits ?? [])]);
}

export function SourcesField<D extends CommonDraft>({ draft, onChange, problems }: Props<D>) {
  const telling = useTelling();
  const { sources } = draft;
  return (
    <Fieldset legend={words.sources}>
      <Stack gap="xs">
        <Checkbox
          label={words.allSources}
          checked={sources === null}
          onChange={(event) => onChange({ ...draft, sources: event.target.checked ? null : [] })}
        />
        {sources !== null && (
          <EntriesPicker
            kind="sources"
            label={words.sources}
            value={sources}
            onChange={(chosen) => onChange({ ...draft, sources: chosen })}
            error={problems.get('sources')}
            // No client sends to the source of an audience.
            offers={({ id }) => !telling.has(id)}
          />
        )}
      </Stack>
    </Fieldset>
  );
}

export function DestinationsField<D extends CommonDraft>({ draft, onChange, problems }: Props<D>) {
  const chosen = useEntries('destinations', draft.destinations);
  const off = [...chosen.values()].filter(({ enabled }) => !enabled);
  return (
    <Stack gap="xs">
      <EntriesPicker
        kind="destinations"
        label={words.destinations}
        description={words.destinationsHint}
        value={draft.destinations}
        onChange={(destinations) => onChange({ ...draft, destinations })}
        error={problems.get('destinations')}
        nameOf={({ name, enabled }) => (enabled ? name : `${name}${words.off}`)}
        none={words.noDestinations(<TextLink to="/connect">{words.connectOne}</TextLink>)}
      />
      {off.length > 0 && (
        <Text size="sm">{words.disabledMisses(off.map(({ name }) => name).join(', '))}</Text>
      )}
    </Stack>
  );
}

export function SyncField<D extends CommonDraft>({ draft, onChange, problems }: Props<D>) {
  return (
    <TextInput
      label={words.syncInterval}
      description={words.syncIntervalHint}
      value={draft.syncEvery}
      onChange={(event) => onChange({ ...draft, syncEvery: event.target.value.trim() })}
      error={problems.get('syncEvery')}
    />
  );
}
