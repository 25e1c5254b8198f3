import { Checkbox, Fieldset, Group, Stack } from '@mantine/core';

interface AllOrSomeProps {
  legend: string;
  /** label of the box for all */
  all: string;
  /** label of the group of options, for screen readers */
  label: string;
  /** value and label */
  options: readonly (readonly [string, string])[];
  /** null: all */
  value: readonly string[] | null;
  onChange: (value: string[] | null) => void;
  error: string | undefined;
  /** options in one line, for short labels */
  inline?: boolean;
}

/** A choice of all, including future ones, or of some: initially every one is selected. */
export function AllOrSome({
  legend,
  all,
  label,
  options,
  value,
  onChange,
  error,
  inline,
}: AllOrSomeProps) {
  const boxes = options.map(([id, name]) => <Checkbox key={id} value={id} label={name} />);
  return (
    <Fieldset legend={legend}>
      <Stack gap="xs">
        <Checkbox
          label={all}
          checked={value === null}
          onChange={(event) => onChange(event.target.checked ? null : options.map(([id]) => id))}
        />
        {value !== null && (
          <Checkbox.Group aria-label={label} value={[...value]} onChange={onChange} error={error}>
            {inline ? <Group gap="md">{boxes}</Group> : <Stack gap="xs">{boxes}</Stack>}
          </Checkbox.Group>
        )}
      </Stack>
    </Fieldset>
  );
}
