import { Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { useAll } from '../lib/api';
import { useOwnSources } from '../lib/sources';
import { AllOrSome } from '../ui/all-or-some';
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
  const names = useOwnSources();
  return (
    <AllOrSome
      legend={words.sources}
      all={words.allSources}
      label={words.sources}
      options={[...names]}
      value={draft.sources}
      onChange={(sources) => onChange({ ...draft, sources })}
      error={problems.get('sources')}
    />
  );
}

export function DestinationsField<D extends CommonDraft>({ draft, onChange, problems }: Props<D>) {
  const destinations = useAll('destinations');
  const off =
    destinations?.filter(({ id, enabled }) => !enabled && draft.destinations.includes(id)) ?? [];
  return (
    <Checkbox.Group
      label={words.destinations}
      description={words.destinationsHint}
      value={draft.destinations}
      onChange={(chosen) => onChange({ ...draft, destinations: chosen })}
      error={problems.get('destinations')}
    >
      <Stack gap="xs" mt="xs">
        {destinations?.map(({ id, name, enabled, paused }) => (
          <Checkbox
            key={id}
            value={id}
            label={`${name}${enabled ? (paused ? words.paused : '') : words.off}`}
          />
        ))}
        {destinations?.length === 0 && (
          <Text size="sm">
            {words.noDestinations(<TextLink to="/connect">{words.connectOne}</TextLink>)}
          </Text>
        )}
        {off.length > 0 && (
          <Text size="sm">{words.disabledMisses(off.map(({ name }) => name).join(', '))}</Text>
        )}
      </Stack>
    </Checkbox.Group>
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
