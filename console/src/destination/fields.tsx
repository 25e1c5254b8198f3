import { Checkbox, Stack, Text, TextInput } from '@mantine/core';
import { useNames } from '../lib/api';
import { useTelling } from '../lib/sources';
import { TYPES } from '../lib/words';
import { AllOrSome } from '../ui/all-or-some';
import { type Draft } from './draft';

/** Fields of a destination, for the first-time path and for its own page. */

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: ReadonlyMap<string, string>;
}

export function NameField({ draft, onChange, problems }: Props) {
  return (
    <TextInput
      label="Name"
      description="For people: how you will find it again"
      value={draft.name}
      onChange={(event) => onChange({ ...draft, name: event.target.value })}
      error={problems.get('name')}
      required
    />
  );
}

export function SourcesField({ draft, onChange, problems }: Props) {
  const names = useNames('sources');
  const telling = useTelling();
  return (
    <Checkbox.Group
      label="Sources"
      description="Whose messages it gets"
      value={draft.sources}
      onChange={(sources) => onChange({ ...draft, sources })}
      error={problems.get('sources')}
    >
      <Stack gap="xs" mt="xs">
        {[...names].map(([id, name]) => (
          <Checkbox key={id} value={id} label={telling.has(id) ? `${name} (told by Waypost)` : name} />
        ))}
        {names.size === 0 && <Text size="sm">There is no source yet.</Text>}
      </Stack>
    </Checkbox.Group>
  );
}

interface SecretProps {
  value: string;
  onChange: (secret: string) => void;
  problem: string | undefined;
  /** one is stored */
  has: boolean;
}

export function SecretField({ value, onChange, problem, has }: SecretProps) {
  return (
    <TextInput
      type="password"
      autoComplete="new-password"
      label={has ? 'Replace the shared secret' : 'Shared secret'}
      description={
        has
          ? 'One is stored, and is never shown. What you write here takes its place at once; “Rotate the secret” leaves receivers time'
          : 'If you set one, each request is signed with it (X-Signature, webhook-signature), so that the receiver knows whose it is'
      }
      value={value}
      onChange={(event) => onChange(event.target.value)}
      error={problem}
    />
  );
}

export function TypesField({ draft, onChange, problems }: Props) {
  return (
    <AllOrSome
      legend="Types of messages"
      all="All, also those to come"
      label="Types of messages"
      options={TYPES.map((type) => [type, type] as const)}
      value={draft.types}
      onChange={(types) => onChange({ ...draft, types: types && TYPES.filter((type) => types.includes(type)) })}
      error={problems.get('types')}
      inline
    />
  );
}

export function SwitchOffField({ draft, onChange, problems }: Props) {
  return (
    <TextInput
      label="Switch it off after failing for"
      description="Such as 5d; what waits is then cancelled. 0s: never. Empty: as the alerts are set"
      value={draft.switchOffAfter}
      onChange={(event) => onChange({ ...draft, switchOffAfter: event.target.value.trim() })}
      error={problems.get('switchOffAfter')}
    />
  );
}

export function RateField({ draft, onChange, problems }: Props) {
  return (
    <TextInput
      label="At most so many requests a second"
      description="To each URL. Empty: as fast as it answers"
      inputMode="decimal"
      value={draft.maxPerSecond}
      onChange={(event) => onChange({ ...draft, maxPerSecond: event.target.value.trim() })}
      error={problems.get('maxPerSecond')}
    />
  );
}
