import { Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { useAll } from '../lib/api';
import { useOwnSources } from '../lib/sources';
import { AllOrSome } from '../ui/all-or-some';
import { TextLink } from '../ui/ui';
import { type CommonDraft, namingOf } from './draft';

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
      ? `Display name. The trait remains ${stored}, because receivers use it`
      : naming.key !== undefined
        ? `Receivers see the trait ${naming.key}`
        : 'Display name. The trait for receivers derives from it';
  const problem = stored === undefined ? naming.problem : undefined;
  return (
    <TextInput
      label="Name"
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
      legend="Sources"
      all="All sources, including future ones"
      label="Sources"
      options={[...names]}
      value={draft.sources}
      onChange={(sources) => onChange({ ...draft, sources })}
      error={problems.get('sources')}
    />
  );
}

export function DestinationsField<D extends CommonDraft>({ draft, onChange, problems }: Props<D>) {
  const destinations = useAll('destinations');
  const off = destinations?.filter(({ id, enabled }) => !enabled && draft.destinations.includes(id)) ?? [];
  return (
    <Checkbox.Group
      label="Destinations"
      description="Each receives an identify call for every user who joins or leaves"
      value={draft.destinations}
      onChange={(chosen) => onChange({ ...draft, destinations: chosen })}
      error={problems.get('destinations')}
    >
      <Stack gap="xs" mt="xs">
        {destinations?.map(({ id, name, enabled, paused }) => (
          <Checkbox key={id} value={id} label={`${name}${enabled ? (paused ? ' (paused)' : '') : ' (off)'}`} />
        ))}
        {destinations?.length === 0 && (
          <Text size="sm">
            No destinations yet: <TextLink to="/connect">connect one</TextLink>. Members are counted anyway, and a
            destination that you add later receives the changes from then on.
          </Text>
        )}
        {off.length > 0 && (
          <Text size="sm">
            {off.map(({ name }) => name).join(', ')}: disabled. It misses the updates sent while it is disabled, and
            they are not sent again.
          </Text>
        )}
      </Stack>
    </Checkbox.Group>
  );
}

export function SyncField<D extends CommonDraft>({ draft, onChange, problems }: Props<D>) {
  return (
    <TextInput
      label="Sync interval"
      description="How often changes are sent to receivers: 1s to 24h"
      value={draft.syncEvery}
      onChange={(event) => onChange({ ...draft, syncEvery: event.target.value.trim() })}
      error={problems.get('syncEvery')}
    />
  );
}
