import { TextInput } from '@mantine/core';
import { ListField } from '../ui/list-field';
import { SecretInput } from './secret-input';
import { type HeaderDraft } from './webhook-draft';
import { text } from '../texts';

const words = text.endpoint.headersField;

interface Props {
  headers: HeaderDraft[];
  /** position of the URL */
  at: number;
  problems: ReadonlyMap<string, string>;
  /** why stored values cannot be kept */
  lost: string | undefined;
  disabled: boolean;
  onChange: (headers: HeaderDraft[]) => void;
}

const EMPTY: HeaderDraft = { name: '', value: '', kept: false };

/** The static headers of a URL. */
export function HeadersField({ headers, at, problems, lost, disabled, onChange }: Props) {
  return (
    <ListField
      rows={headers}
      onChange={onChange}
      added={EMPTY}
      addLabel={words.addHeader}
      removeLabel={words.remove}
      disabled={disabled}
    >
      {(header, change, j) => {
        const problem =
          problems.get(`webhooks/${at}/headers/${j}`) ??
          problems.get(`webhooks/${at}/headers/${header.name}`);
        const isOfValue = lost !== undefined && header.kept && header.value === '';
        // Show no error for an empty row: the user has only just added it.
        const isNew = header.name === '' && header.value === '';
        return (
          <>
            <TextInput
              label={words.header}
              value={header.name}
              onChange={(event) =>
                change({ ...header, name: event.target.value.trim(), kept: false })
              }
              error={isNew || isOfValue ? undefined : problem}
            />
            <SecretInput
              label={words.value}
              secret={header}
              lost={lost}
              problem={isOfValue ? problem : undefined}
              onChange={(secret) => change({ ...header, ...secret })}
            />
          </>
        );
      }}
    </ListField>
  );
}
