import { TextInput } from '@mantine/core';
import { FORM_FIELDS, type FormName } from '../../../shared/model/destination-fields';
import { text } from '../texts';
import { type FieldProps, TypesField } from './fields';
import { FilterField } from './filter-field';

const words = text.destination.fields;

/** Fields that more than a line of text changes. */
const OWN = { types: TypesField, filter: FilterField };
type InputName = Exclude<FormName, keyof typeof OWN>;

/** The plain fields of a destination, from their table. */
export function PlainFields(fields: FieldProps) {
  return FORM_FIELDS.map(([name, { kind }]) => {
    if (name === 'types' || name === 'filter') {
      const Field = OWN[name];
      return <Field key={name} {...fields} />;
    }
    const isNumber = kind === 'number' || kind === 'integer';
    return (
      <InputField key={name} name={name} inputMode={isNumber ? 'decimal' : 'text'} {...fields} />
    );
  });
}

interface InputProps extends FieldProps {
  name: InputName;
  inputMode: 'decimal' | 'text';
}

function InputField({ name, inputMode, draft, onChange, problems }: InputProps) {
  const { label, hint } = words[name];
  return (
    <TextInput
      label={label}
      description={hint}
      inputMode={inputMode}
      value={draft[name]}
      onChange={(event) => onChange({ ...draft, [name]: event.target.value.trim() })}
      error={problems.get(name)}
    />
  );
}
