import { Button, Fieldset, Select, Stack, Text, TextInput } from '@mantine/core';
import { refusedAddress } from '../../../shared/model/address-warning';
import { type AlertFormat } from '../../../shared/model/config';
import { useRead } from '../lib/api';
import { AuthSection } from './auth-section';
import { HeadersField } from './headers-field';
import { TlsSection } from './tls-section';
import {
  headersLost,
  MAX_WEBHOOKS,
  secretsLost,
  urlProblem,
  type WebhookDraft,
  withoutLost,
} from './webhook-draft';
import { text } from '../texts';

const words = text.endpoint.webhooksEditor;

/**
 * Up to five URLs, validated while the user types, with their authentication and static headers.
 */

const ALERT_FORMAT_LABELS: Record<AlertFormat, string> = words.alertFormatLabels;

interface Props {
  webhooks: WebhookDraft[];
  onChange: (webhooks: WebhookDraft[]) => void;
  problems: ReadonlyMap<string, string>;
  /**
   * the parts of a webhook to show: its address alone, also its authentication and TLS, or also its
   * static headers
   */
  show: 'address' | 'urls' | 'both';
  /** what an address looks like */
  example?: string | undefined;
  /** shows the fields of the authentication at once */
  opensAuth?: boolean;
  disabled?: boolean;
  /** also shows the format of each body, which only alerts have */
  formats?: boolean;
  /** minimum number of URLs; default 1 */
  least?: number;
  /** the stored secrets would go to another proxy */
  proxyChanges?: boolean;
}

export function WebhooksEditor({ webhooks, onChange, least = 1, ...rest }: Props) {
  const { show, disabled = false } = rest;
  const mayAdd = show !== 'address' && !disabled;
  return (
    <Stack gap="sm">
      {webhooks.map((webhook, i) => (
        <Fieldset
          key={webhook.id ?? `new-${i}`}
          legend={webhooks.length === 1 ? words.url : words.urlNumber(i + 1)}
          disabled={disabled}
        >
          <Stack gap="sm">
            <WebhookFields
              {...rest}
              webhook={webhook}
              at={i}
              disabled={disabled}
              onChange={(changed) =>
                onChange(webhooks.map((old, other) => (other === i ? changed : old)))
              }
            />
            {!disabled && webhooks.length > least && (
              <Button
                className="start"
                size="xs"
                variant="default"
                onClick={() => onChange(webhooks.filter((_, other) => other !== i))}
              >
                {words.removeUrl(i + 1)}
              </Button>
            )}
          </Stack>
        </Fieldset>
      ))}
      {mayAdd && webhooks.length < MAX_WEBHOOKS && (
        <Button
          className="start"
          variant="default"
          onClick={() => onChange([...webhooks, { url: '', headers: [] }])}
        >
          {webhooks.length === 0 ? words.addUrl : words.addAnotherUrl}
        </Button>
      )}
    </Stack>
  );
}

interface FieldsProps extends Pick<
  Props,
  'problems' | 'show' | 'formats' | 'proxyChanges' | 'example' | 'opensAuth'
> {
  webhook: WebhookDraft;
  at: number;
  disabled: boolean;
  onChange: (webhook: WebhookDraft) => void;
}

function WebhookFields({
  webhook,
  at,
  onChange,
  problems,
  show,
  disabled,
  formats,
  proxyChanges,
  example,
  opensAuth = false,
}: FieldsProps) {
  const lost = secretsLost(webhook, proxyChanges);
  return (
    <>
      {/* One part: the empty place of a warning would double the gap. */}
      <div>
        <UrlField
          webhook={webhook}
          at={at}
          problems={problems}
          disabled={disabled}
          example={example}
          onChange={(url) => onChange({ ...webhook, url })}
        />
        {!disabled && (
          <NotKept webhook={webhook} proxyChanges={proxyChanges} why={lost} onChange={onChange} />
        )}
      </div>
      {formats && (
        <FormatField
          format={webhook.format}
          disabled={disabled}
          problem={problems.get(`webhooks/${at}/format`)}
          onChange={(format) => onChange({ ...webhook, format })}
        />
      )}
      {show !== 'address' && (
        <div>
          <AuthSection
            isOpen={opensAuth}
            auth={webhook.auth}
            field={`webhooks/${at}/auth`}
            problems={problems}
            lost={lost}
            disabled={disabled}
            onChange={(auth) => onChange(withAuth(webhook, auth))}
          />
          <TlsSection
            tls={webhook.tls}
            field={`webhooks/${at}/tls`}
            problems={problems}
            lost={lost}
            onChange={(tls) => onChange({ ...webhook, tls })}
          />
        </div>
      )}
      {show === 'both' && (
        <HeadersField
          headers={webhook.headers}
          at={at}
          problems={problems}
          disabled={disabled}
          lost={headersLost(webhook, proxyChanges)}
          onChange={(headers) => onChange({ ...webhook, headers })}
        />
      )}
    </>
  );
}

interface NotKeptProps extends Pick<FieldsProps, 'webhook' | 'onChange'> {
  proxyChanges: boolean | undefined;
  /** undefined: all can be kept */
  why: string | undefined;
}

/** Says which stored secrets another address does not get, and lets the user drop them. */
function NotKept({ webhook, proxyChanges, why, onChange }: NotKeptProps) {
  const { dropped = [] } = webhook;
  const without = withoutLost(webhook, proxyChanges);
  const lost = (without.dropped ?? []).slice(dropped.length);
  return (
    <div aria-live="polite">
      {lost.length > 0 && why !== undefined && (
        <Stack gap="xs">
          <Text className="warning">{words.cannotKeep(why, lost.join(', '))}</Text>
          <Button className="start" size="xs" variant="default" onClick={() => onChange(without)}>
            {words.drop}
          </Button>
        </Stack>
      )}
      {dropped.length > 0 && <Text className="warning">{words.dropped(dropped.join(', '))}</Text>}
    </div>
  );
}

function withAuth({ auth: _, ...webhook }: WebhookDraft, auth: WebhookDraft['auth']): WebhookDraft {
  return auth ? { ...webhook, auth } : webhook;
}

interface UrlProps {
  webhook: WebhookDraft;
  at: number;
  problems: ReadonlyMap<string, string>;
  disabled: boolean;
  example: string | undefined;
  onChange: (url: string) => void;
}

function UrlField({
  webhook: { url },
  at,
  problems,
  disabled,
  example = words.addressExample,
  onChange,
}: UrlProps) {
  const problem = urlProblem(url) ?? problems.get(`webhooks/${at}/url`);
  const about = useRead('GET /about', {});
  const isChecked = problem === undefined && !disabled && about.data !== undefined;
  const warned = isChecked ? refusedAddress(url, about.data.data.networks) : undefined;
  const isGood = url !== '' && problem === undefined && warned === undefined;
  const hint = isGood ? words.validAddress : words.urlRules(MAX_WEBHOOKS);
  return (
    <>
      <TextInput
        label={words.address}
        type="url"
        inputMode="url"
        placeholder={example}
        description={disabled ? words.onlyAdministrators : hint}
        value={url}
        onChange={(event) => onChange(event.target.value.trim())}
        // Show no error for an empty field: the user may not have reached it yet.
        error={url === '' ? undefined : problem}
        required
      />
      <div aria-live="polite">
        {warned && <Text className="warning">{words.refusedAddress(warned.host, warned.why)}</Text>}
      </div>
    </>
  );
}

interface FormatFieldProps {
  format: AlertFormat | undefined;
  disabled: boolean;
  problem: string | undefined;
  onChange: (format: AlertFormat) => void;
}

function FormatField({ format = 'default', disabled, problem, onChange }: FormatFieldProps) {
  return (
    <Select
      label={words.format}
      data={Object.entries(ALERT_FORMAT_LABELS).map(([value, label]) => ({ value, label }))}
      value={format}
      allowDeselect={false}
      disabled={disabled}
      description={format === 'pagerduty' ? words.needsRoutingKey : undefined}
      error={problem}
      onChange={(value) => onChange(value as AlertFormat)}
    />
  );
}
