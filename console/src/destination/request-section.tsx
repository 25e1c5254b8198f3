import { Group, NativeSelect, Stack, Textarea, TextInput } from '@mantine/core';
import { type Destination } from '../../../shared/api/operations';
import { METHODS } from '../../../shared/model/request-settings';
import { Disclosure } from '../ui/disclosure';
import { ListField } from '../ui/list-field';
import { type Draft } from './draft';
import { problemAt } from './field-values';
import { Preview, usePreview } from './preview';
import { type RequestDraft, requestDraft, TEMPLATE } from './request-draft';
import { text } from '../texts';

const words = text.endpoint.requestSection;

/** The method, the body and the rendered headers of requests, with a preview on recent events. */

const FORMATS: Record<RequestDraft['format'], string> = {
  default: words.waypostJson,
  thin: words.idsOnlyJson,
  cloudevents: words.cloudEvents10Json,
  'cloudevents-binary': words.cloudEvents10Headers,
  slack: words.slack,
  teams: words.microsoftTeams,
  discord: words.discord,
  pagerduty: words.pagerDutyEventsV2,
  [TEMPLATE]: words.ownTemplate,
};

interface Props {
  draft: Draft;
  onChange: (draft: Draft) => void;
  problems: ReadonlyMap<string, string>;
  /** a shared secret is stored */
  hasSecret: boolean;
  /** the user may preview the request, but not change it */
  disabled?: boolean;
}

export function RequestSection({ draft, problems, ...rest }: Props) {
  return (
    <Disclosure
      title={words.request}
      summary={inWords(draft.request)}
      problem={problemAt(problems, 'request')}
    >
      <RequestFields draft={draft} problems={problems} {...rest} />
    </Disclosure>
  );
}

function RequestFields({ draft, onChange, problems, hasSecret, disabled = false }: Props) {
  const preview = usePreview(draft, hasSecret);
  return (
    <Stack gap="sm">
      <fieldset className="bare" disabled={disabled}>
        <Settings
          request={draft.request}
          problems={new Map([...preview.problems, ...problems])}
          onChange={(request) => onChange({ ...draft, request })}
        />
      </fieldset>
      <Preview of={preview} url={draft.webhooks[0]?.url ?? ''} />
    </Stack>
  );
}

interface SettingsProps {
  request: RequestDraft;
  onChange: (request: RequestDraft) => void;
  problems: ReadonlyMap<string, string>;
}

function Settings({ request, onChange, problems }: SettingsProps) {
  const set = (fields: Partial<RequestDraft>) => onChange({ ...request, ...fields });
  return (
    <Stack gap="sm">
      <Group align="flex-start" grow>
        <NativeSelect
          label={words.method}
          data={[...METHODS]}
          value={request.method}
          error={problems.get('request/method')}
          onChange={(event) => set({ method: event.target.value as RequestDraft['method'] })}
        />
        <NativeSelect
          label={words.body}
          data={Object.entries(FORMATS).map(([value, label]) => ({ value, label }))}
          value={request.format}
          description={request.format === 'pagerduty' ? words.needsRoutingKey : undefined}
          error={problems.get('request/format')}
          onChange={(event) => set({ format: event.target.value as RequestDraft['format'] })}
        />
      </Group>
      {request.format === TEMPLATE && (
        <Textarea
          label={words.template}
          description={words.templateHint}
          value={request.body}
          error={problems.get('request/body')}
          classNames={{ input: 'mono' }}
          autosize
          minRows={2}
          maxRows={16}
          spellCheck={false}
          onChange={(event) => set({ body: event.target.value })}
        />
      )}
      <RenderedHeaders
        headers={request.headers}
        problems={problems}
        onChange={(headers) => set({ headers })}
      />
      <TextInput
        label={words.compressBodiesAbove}
        description={words.compressBodiesAboveHint}
        inputMode="numeric"
        value={request.gzipAbove}
        error={problems.get('request/gzipAbove')}
        onChange={(event) => set({ gzipAbove: event.target.value.trim() })}
      />
    </Stack>
  );
}

interface HeadersProps {
  headers: RequestDraft['headers'];
  problems: ReadonlyMap<string, string>;
  onChange: (headers: RequestDraft['headers']) => void;
}

function RenderedHeaders({ headers, problems, onChange }: HeadersProps) {
  return (
    <ListField
      rows={headers}
      onChange={onChange}
      added={{ name: '', expression: '' }}
      addLabel={words.addRenderedHeader}
      removeLabel={words.remove}
    >
      {({ name, expression }, change, i) => (
        <>
          <TextInput
            label={words.renderedHeader}
            placeholder={words.renderedHeaderExample}
            value={name}
            onChange={(event) => change({ name: event.target.value.trim(), expression })}
            // Show no error for an empty row: the user has only just added it.
            error={
              name === '' && expression === ''
                ? undefined
                : (problems.get(`request/headers/${i}`) ?? problems.get(`request/headers/${name}`))
            }
          />
          <TextInput
            label={words.expression}
            placeholder={words.expressionExample}
            classNames={{ input: 'mono' }}
            spellCheck={false}
            value={expression}
            onChange={(event) => change({ name, expression: event.target.value })}
          />
        </>
      )}
    </ListField>
  );
}

/** Names the method and the form of a destination's requests. */
export function requestInWords(request: Destination['request']): string {
  return inWords(requestDraft(request));
}

function inWords({ method, format, headers }: RequestDraft): string {
  const more = headers.length === 0 ? '' : words.rendered(headers.length);
  return `${method}, ${FORMATS[format]}${more}`;
}
