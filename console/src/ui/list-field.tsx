import { Button, Group, Stack } from '@mantine/core';
import { type ReactNode } from 'react';

interface Props<T> {
  rows: readonly T[];
  onChange: (rows: T[]) => void;
  /** the row that the button adds */
  added: T;
  addLabel: string;
  removeLabel: string;
  disabled?: boolean;
  /** the fields of a row, and what changes it */
  children: (row: T, change: (row: T) => void, at: number) => ReactNode;
}

/** Rows of fields, any number of them. */
export function ListField<T>({ rows, onChange, added, disabled = false, ...rest }: Props<T>) {
  const { addLabel, removeLabel, children } = rest;
  return (
    <Stack gap="xs">
      {rows.map((row, at) => (
        // The key is the position, because the user edits all that a row has.
        <Group key={`row-${at}`} align="flex-start" gap="xs">
          {children(
            row,
            (changed) => onChange(rows.map((old, other) => (other === at ? changed : old))),
            at,
          )}
          {!disabled && (
            <Button
              className="beside-field"
              variant="default"
              onClick={() => onChange(rows.filter((_, other) => other !== at))}
            >
              {removeLabel}
            </Button>
          )}
        </Group>
      ))}
      {!disabled && (
        <Button
          className="start"
          size="xs"
          variant="default"
          onClick={() => onChange([...rows, added])}
        >
          {addLabel}
        </Button>
      )}
    </Stack>
  );
}
