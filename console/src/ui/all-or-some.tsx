import { Checkbox, Fieldset, Group, Stack } from '@mantine/core';

interface AllOrSomeProps {
  legend: string;
  /** of the box for all */
  all: string;
  /** of the group of those to choose, for who cannot see it */
  label: string;
  /** value and label */
  options: readonly (readonly [string, string])[];
  /** null: all */
  value: readonly string[] | null;
  onChange: (value: string[] | null) => void;
  error: string | undefined;
  /** beside each other, where labels are short */
  inline?: boolean;
}

/** All, also those to come, or the ones that are chosen: at first each of them. */
export function AllOrSome({ legend, all, label, options, value, onChange, error, inline }: AllOrSomeProps) {
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
