import { Checkbox, Group, Stack, Text, TextInput } from '@mantine/core';
import { useNames } from '../lib/api';
import { useTelling } from '../lib/sources';
import { TYPES } from '../lib/labels';
import { AllOrSome } from '../ui/all-or-some';
import { type BatchDraft, type Draft } from './draft';

/** Fields of a destination, for the first-time path and the destination's page. */

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: ReadonlyMap<string, string>;
}

export function NameField({ draft, onChange, problems }: Props) {
  return (
    <TextInput
      label="Name"
      description="Display name"
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
      description="Sources whose messages it receives"
      value={draft.sources}
      onChange={(sources) => onChange({ ...draft, sources })}
      error={problems.get('sources')}
    >
      <Stack gap="xs" mt="xs">
        {[...names].map(([id, name]) => (
          <Checkbox key={id} value={id} label={telling.has(id) ? `${name} (updates from Waypost)` : name} />
        ))}
        {names.size === 0 && <Text size="sm">No sources yet.</Text>}
      </Stack>
    </Checkbox.Group>
  );
}

interface SecretProps {
  value: string;
  onChange: (secret: string) => void;
  problem: string | undefined;
  /** a secret is stored */
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
          ? 'A secret is stored and never shown. A new value replaces it immediately. “Rotate the secret” gives receivers time to switch'
          : 'If set, it signs each request (X-Signature, webhook-signature), so that the receiver can verify the sender'
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
      legend="Message types"
      all="All types, including future ones"
      label="Message types"
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
      label="Switch off after failing for"
      description="Such as 5d. Cancels waiting deliveries. 0s: never. Leave empty for the setting of the alerts"
      value={draft.switchOffAfter}
      onChange={(event) => onChange({ ...draft, switchOffAfter: event.target.value.trim() })}
      error={problems.get('switchOffAfter')}
    />
  );
}

export function RateField({ draft, onChange, problems }: Props) {
  return (
    <TextInput
      label="Maximum requests per second"
      description="To each URL. Leave empty for no limit"
      inputMode="decimal"
      value={draft.maxPerSecond}
      onChange={(event) => onChange({ ...draft, maxPerSecond: event.target.value.trim() })}
      error={problems.get('maxPerSecond')}
    />
  );
}

export function BatchField({ draft, onChange, problems }: Props) {
  const field = (name: keyof BatchDraft) => ({
    value: draft.batch[name],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, batch: { ...draft.batch, [name]: event.target.value.trim() } }),
    error: problems.get(`batch/${name}`),
  });
  const single = draft.batch.maxEvents === '';
  return (
    <Group align="flex-start" grow>
      <TextInput
        label="Events per request"
        description="Up to 100, sent as a JSON array. Leave empty to send each event alone"
        inputMode="numeric"
        {...field('maxEvents')}
      />
      <TextInput label="Wait for more events" description="From 100ms to 60s" disabled={single} {...field('maxWait')} />
      <TextInput
        label="Maximum bytes per request"
        description="Up to 5,000,000"
        inputMode="numeric"
        disabled={single}
        {...field('maxBytes')}
      />
    </Group>
  );
}
