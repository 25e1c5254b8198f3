import { Button, Group, Stack, TextInput } from '@mantine/core';
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

/** The static headers of a URL. */
export function HeadersField({ headers, at, problems, lost, disabled, onChange }: Props) {
  const change = (index: number, header: HeaderDraft) =>
    onChange(headers.map((old, j) => (j === index ? header : old)));
  return (
    <Stack gap="xs">
      {headers.map((header, j) => {
        const problem =
          problems.get(`webhooks/${at}/headers/${j}`) ??
          problems.get(`webhooks/${at}/headers/${header.name}`);
        const isOfValue = lost !== undefined && header.kept && header.value === '';
        // Show no error for an empty row: the user has only just added it.
        const isNew = header.name === '' && header.value === '';
        return (
          // The key is the position, because the user edits the name.
          <Group key={`header-${j}`} align="flex-start" gap="xs">
            <TextInput
              label={words.header}
              value={header.name}
              onChange={(event) =>
                change(j, { ...header, name: event.target.value.trim(), kept: false })
              }
              error={isNew || isOfValue ? undefined : problem}
            />
            <SecretInput
              label={words.value}
              secret={header}
              lost={lost}
              problem={isOfValue ? problem : undefined}
              onChange={(secret) => change(j, { ...header, ...secret })}
            />
            {!disabled && (
              <Button
                className="beside-field"
                variant="default"
                onClick={() => onChange(headers.filter((_, other) => other !== j))}
              >
                {words.remove}
              </Button>
            )}
          </Group>
        );
      })}
      {!disabled && (
        <Button
          className="start"
          size="xs"
          variant="default"
          onClick={() => onChange([...headers, { name: '', value: '', kept: false }])}
        >
          {words.addHeader}
        </Button>
      )}
    </Stack>
  );
}
