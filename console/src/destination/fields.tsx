import { Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import { newSecret } from '../lib/secret';
import { useTelling } from '../lib/sources';
import { TYPES } from '../lib/labels';
import { AllOrSome } from '../ui/all-or-some';
import { Copy } from '../ui/code';
import { EntriesPicker } from '../ui/entry-picker';
import { type Draft } from './draft';
import { text } from '../texts';

const words = text.endpoint.fields;

/** Fields of a destination, for the first-time path and the destination's page. */

export interface FieldProps {
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: ReadonlyMap<string, string>;
}

export function NameField({ draft, onChange, problems }: FieldProps) {
  return (
    <TextInput
      label={words.name}
      description={words.nameHint}
      value={draft.name}
      onChange={(event) => onChange({ ...draft, name: event.target.value })}
      error={problems.get('name')}
      required
    />
  );
}

export function SourcesField({ draft, onChange, problems }: FieldProps) {
  const telling = useTelling();
  return (
    <EntriesPicker
      kind="sources"
      label={words.sources}
      description={words.sourcesHint}
      value={draft.sources}
      onChange={(sources) => onChange({ ...draft, sources })}
      error={problems.get('sources')}
      nameOf={({ id, name }) => (telling.has(id) ? words.fromAudience(name) : name)}
    />
  );
}

interface SecretProps {
  value: string;
  onChange: (secret: string) => void;
  problem: string | undefined;
  /** a secret is stored */
  has: boolean;
  /** one that the page has made already */
  generated?: string;
}

/**
 * Sets the secret that signs requests. A generated one is readable until it is saved, so that the
 * user can copy it.
 */
export function SecretField({ value, onChange, problem, has, ...made }: SecretProps) {
  const [generated, setGenerated] = useState(made.generated ?? '');
  const readable = value !== '' && value === generated;
  // A generated one needs no advice.
  const hint = readable ? undefined : words.sharedSecretHint;
  const generate = () => {
    const secret = newSecret();
    setGenerated(secret);
    onChange(secret);
  };
  return (
    <Stack gap="xs">
      <TextInput
        type={readable ? 'text' : 'password'}
        autoComplete="new-password"
        label={has ? words.replaceSharedSecret : words.sharedSecret}
        description={has ? words.secretSetHint : hint}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        error={problem}
        spellCheck={false}
        {...(readable && {
          rightSection: <Copy text={value} label={words.copySharedSecret} />,
          classNames: { input: 'mono' },
        })}
      />
      <Group gap="xs">
        <Button size="xs" variant="default" onClick={generate}>
          {words.generateSecret}
        </Button>
        {readable && <Text size="sm">{words.copyNow}</Text>}
        {!has && value === '' && <Text className="warning">{words.notSigned}</Text>}
      </Group>
    </Stack>
  );
}

export function TypesField({ draft, onChange, problems }: FieldProps) {
  return (
    <AllOrSome
      legend={words.messageTypes}
      all={words.allTypes}
      label={words.messageTypes}
      options={TYPES.map((type) => [type, type] as const)}
      value={draft.types}
      onChange={(types) =>
        onChange({ ...draft, types: types && TYPES.filter((type) => types.includes(type)) })
      }
      error={problems.get('types')}
      inline
    />
  );
}
