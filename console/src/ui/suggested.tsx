import { TextInput } from '@mantine/core';
import { useId } from 'react';

interface SuggestedProps {
  label: string;
  options: readonly string[];
  value: string;
  onChange: (text: string) => void;
  description?: string | undefined;
  error?: string | undefined;
  inputMode?: 'decimal';
}

/** A text field with suggestions; any other text is valid too. */
export function Suggested({ options, onChange, value, ...rest }: SuggestedProps) {
  const list = useId();
  return (
    <>
      <TextInput
        {...rest}
        list={options.length > 0 ? list : undefined}
        autoComplete="off"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
      {options.length > 0 && (
        <datalist id={list}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </>
  );
}
