import { Button, Fieldset, Group, Select, Stack, Text, TextInput } from '@mantine/core';
import { addressWarning } from '../../../shared/model/address-warning';
import { type AlertFormat } from '../../../shared/model/config';
import { type HeaderDraft, MAX_WEBHOOKS, urlProblem, type WebhookDraft } from './draft';

/** Up to five URLs, validated while the user types, and their static headers. */

const ALERT_FORMAT_LABELS: Record<AlertFormat, string> = {
  default: 'Waypost (JSON)',
  slack: 'Slack',
  teams: 'Microsoft Teams',
  discord: 'Discord',
  pagerduty: 'PagerDuty Events v2',
};

interface Props {
  webhooks: WebhookDraft[];
  onChange: (webhooks: WebhookDraft[]) => void;
  problems: ReadonlyMap<string, string>;
  /** the parts of a webhook to show */
  show: 'urls' | 'headers' | 'both';
  disabled?: boolean;
  /** also shows the format of each body, which only alerts have */
  formats?: boolean;
  /** minimum number of URLs; default 1 */
  least?: number;
}

export function WebhooksEditor(props: Props) {
  const { webhooks, onChange, problems, show, disabled = false, formats = false, least = 1 } = props;
  const change = (at: number, webhook: WebhookDraft) => onChange(webhooks.map((old, i) => (i === at ? webhook : old)));
  return (
    <Stack gap="sm">
      {webhooks.map((webhook, i) => (
        <Fieldset
          key={webhook.id ?? `new-${i}`}
          legend={webhooks.length === 1 ? 'URL' : `URL ${i + 1}`}
          disabled={disabled}
        >
          <Stack gap="sm">
            {show === 'headers' ? (
              <Text className="break">{webhook.url}</Text>
            ) : (
              <UrlField
                webhook={webhook}
                at={i}
                problems={problems}
                disabled={disabled}
                onChange={(url) => change(i, { ...webhook, url })}
              />
            )}
            {formats && (
              <FormatField
                format={webhook.format}
                disabled={disabled}
                onChange={(format) => change(i, { ...webhook, format })}
              />
            )}
            {show !== 'urls' && (
              <Headers
                headers={webhook.headers}
                at={i}
                problems={problems}
                disabled={disabled}
                onChange={(headers) => change(i, { ...webhook, headers })}
              />
            )}
            {show !== 'headers' && !disabled && webhooks.length > least && (
              <Button
                className="start"
                size="xs"
                variant="default"
                onClick={() => onChange(webhooks.filter((_, other) => other !== i))}
              >
                Remove URL {i + 1}
              </Button>
            )}
          </Stack>
        </Fieldset>
      ))}
      {show !== 'headers' && !disabled && webhooks.length < MAX_WEBHOOKS && (
        <Button className="start" variant="default" onClick={() => onChange([...webhooks, { url: '', headers: [] }])}>
          {webhooks.length === 0 ? 'Add a URL' : 'Add another URL'}
        </Button>
      )}
    </Stack>
  );
}

interface UrlProps {
  webhook: WebhookDraft;
  at: number;
  problems: ReadonlyMap<string, string>;
  disabled: boolean;
  onChange: (url: string) => void;
}

function UrlField({ webhook: { url }, at, problems, disabled, onChange }: UrlProps) {
  const problem = urlProblem(url) ?? problems.get(`webhooks/${at}/url`);
  const warning = problem === undefined && !disabled ? addressWarning(url) : undefined;
  const hint = url !== '' && problem === undefined ? '✓ Valid URL' : `http or https; at most ${MAX_WEBHOOKS} URLs`;
  return (
    <>
      <TextInput
        label="Address"
        type="url"
        inputMode="url"
        placeholder="https://example.com/webhooks"
        description={disabled ? 'Only administrators see the path of a URL' : hint}
        value={url}
        onChange={(event) => onChange(event.target.value.trim())}
        // Show no error for an empty field: the user may not have reached it yet.
        error={url === '' ? undefined : problem}
        required
      />
      <div aria-live="polite">{warning !== undefined && <Text className="warning">{warning}</Text>}</div>
    </>
  );
}

interface HeadersProps {
  headers: HeaderDraft[];
  at: number;
  problems: ReadonlyMap<string, string>;
  disabled: boolean;
  onChange: (headers: HeaderDraft[]) => void;
}

function Headers({ headers, at, problems, disabled, onChange }: HeadersProps) {
  const change = (index: number, header: HeaderDraft) =>
    onChange(headers.map((old, j) => (j === index ? header : old)));
  return (
    <Stack gap="xs">
      {headers.map((header, j) => (
        // The key is the position, because the user edits the name.
        <Group key={`header-${j}`} align="flex-start" gap="xs">
          <TextInput
            label="Header"
            value={header.name}
            onChange={(event) => change(j, { ...header, name: event.target.value.trim(), kept: false })}
            // Show no error for an empty row: the user has only just added it.
            error={
              header.name === '' && header.value === ''
                ? undefined
                : (problems.get(`webhooks/${at}/headers/${j}`) ?? problems.get(`webhooks/${at}/headers/${header.name}`))
            }
          />
          <TextInput
            label="Value"
            type="password"
            autoComplete="off"
            placeholder={header.kept ? 'stored; write to replace' : ''}
            value={header.value}
            onChange={(event) => change(j, { ...header, value: event.target.value })}
          />
          {!disabled && (
            <Button
              className="beside-field"
              variant="default"
              onClick={() => onChange(headers.filter((_, other) => other !== j))}
            >
              Remove
            </Button>
          )}
        </Group>
      ))}
      {!disabled && (
        <Button
          className="start"
          size="xs"
          variant="default"
          onClick={() => onChange([...headers, { name: '', value: '', kept: false }])}
        >
          Add a header
        </Button>
      )}
    </Stack>
  );
}

interface FormatFieldProps {
  format: AlertFormat | undefined;
  disabled: boolean;
  onChange: (format: AlertFormat) => void;
}

function FormatField({ format = 'default', disabled, onChange }: FormatFieldProps) {
  return (
    <Select
      label="Format"
      data={Object.entries(ALERT_FORMAT_LABELS).map(([value, label]) => ({ value, label }))}
      value={format}
      allowDeselect={false}
      disabled={disabled}
      onChange={(value) => onChange(value as AlertFormat)}
    />
  );
}
