import { Button, Group, Input, Text, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type SecretDraft } from './auth-draft';
import { text } from '../texts';

const words = text.signing.secretInput;

interface Props {
  label: string;
  secret: SecretDraft;
  onChange: (secret: SecretDraft) => void;
  problem?: string | undefined;
  /** why the stored one cannot be kept */
  lost?: string | undefined;
  description?: string;
  /** a text of many lines, such as PEM */
  lines?: boolean;
}

/** A write-only secret: a stored one shows as kept until the user replaces it. */
export function SecretInput({
  label,
  secret,
  onChange,
  problem,
  lost,
  description,
  lines = false,
}: Props) {
  const [replacing, setReplacing] = useState(false);
  const isKept = secret.kept && secret.value === '';
  if (isKept && !replacing && lost === undefined && problem === undefined) {
    return (
      <Input.Wrapper label={label} labelElement="div">
        <Group gap="xs" className="as-field">
          <Text size="sm">{words.stored}</Text>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={words.replace(label)}
            onClick={() => setReplacing(true)}
          >
            {words.replaceShort}
          </Button>
        </Group>
      </Input.Wrapper>
    );
  }
  const field = {
    label,
    autoComplete: 'off',
    spellCheck: false,
    autoFocus: replacing,
    description: isKept && lost === undefined ? words.leaveEmpty : description,
    value: secret.value,
    error: problem,
  };
  const change = (value: string) => onChange({ ...secret, value });
  if (!lines) {
    return (
      <TextInput {...field} type="password" onChange={(event) => change(event.target.value)} />
    );
  }
  return (
    <Textarea
      {...field}
      classNames={{ input: 'mono' }}
      autosize
      minRows={2}
      maxRows={8}
      onChange={(event) => change(event.target.value)}
    />
  );
}
