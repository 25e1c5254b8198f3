import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useRead } from '../lib/api';
import { Disclosure } from '../ui/disclosure';
import { type FieldProps } from './fields';
import { problemAt } from './field-values';
import { type BatchDraft, effectiveDelays, type RetryDraft, withoutLogin } from './plan-draft';
import { text } from '../texts';

const words = text.endpoint.planSections;

/** Settings of the requests of a destination: batches, retries and the proxy. */

export function BatchSection({ draft, onChange, problems }: FieldProps) {
  const { batch } = draft;
  const field = (name: keyof BatchDraft) => ({
    value: batch[name],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, batch: { ...batch, [name]: event.target.value.trim() } }),
    error: problems.get(`batch/${name}`),
  });
  const single = batch.maxEvents === '';
  const summary = single ? words.eachEventAlone : words.upToEvents(batch.maxEvents, batch.maxWait);
  return (
    <Disclosure title={words.batches} summary={summary} problem={problemAt(problems, 'batch')}>
      <Group align="flex-start" grow>
        <TextInput
          label={words.eventsPerRequest}
          description={words.eventsPerRequestHint}
          inputMode="numeric"
          {...field('maxEvents')}
        />
        <TextInput
          label={words.waitMoreEvents}
          description={words.waitMoreEventsHint}
          disabled={single}
          {...field('maxWait')}
        />
        <TextInput
          label={words.maximumBytesPerRequest}
          description={words.maximumBytesPerRequestHint}
          inputMode="numeric"
          disabled={single}
          {...field('maxBytes')}
        />
      </Group>
      {problems.has('batch') && <Text className="bad">{problems.get('batch')}</Text>}
    </Disclosure>
  );
}

export function RetrySection({ draft, onChange, problems }: FieldProps) {
  const { retry } = draft;
  const field = (name: keyof RetryDraft) => ({
    value: retry[name],
    onChange: (event: { target: { value: string } }) =>
      onChange({ ...draft, retry: { ...retry, [name]: event.target.value } }),
    error: problemAt(problems, `retry/${name}`),
  });
  const set = Object.entries<string>({ ...retry }).filter(([, text]) => text.trim() !== '');
  const usual = useRead('GET /about', {}).data?.data.retry;
  return (
    <Disclosure
      title={words.retries}
      summary={set.length === 0 ? usualInWords(usual) : set.map(inWords).join('; ')}
      problem={problemAt(problems, 'retry')}
    >
      <Stack gap="sm">
        <div>
          <TextInput label={words.delays} description={words.delaysHint} {...field('delays')} />
          <Effective delays={retry.delays} />
        </div>
        <Group align="flex-start" grow>
          <TextInput label={words.window} description={words.windowHint} {...field('window')} />
          <TextInput label={words.timeout} description={words.timeoutHint} {...field('timeout')} />
          <TextInput
            label={words.retryTheseStatusesToo}
            description={words.retryTheseStatusesTooHint}
            {...field('on')}
          />
        </Group>
        <Text size="sm">{words.emptyFields}</Text>
      </Stack>
    </Disclosure>
  );
}

const WORDS: Record<string, string> = words.words;

function inWords([name, text]: [string, string]): string {
  return `${WORDS[name] ?? ''} ${text}`;
}

/** What this installation does without a plan; undefined: not read yet. */
function usualInWords(retry: { delays: string[]; window: string } | undefined): string {
  return retry ? words.usualPlan(retry.delays.join(', '), retry.window) : words.asSettingsSay;
}

/** Shows the delays that Waypost keeps: it composes them of the tiers of this installation. */
function Effective({ delays }: { delays: string }) {
  const read = useRead('GET /about', {});
  const retry = read.data?.data.retry;
  if (!retry) return null;
  const effective = effectiveDelays(delays, retry.delays);
  if (!effective) return null;
  return (
    <Text size="sm" role="status">
      {effective.length === 0
        ? words.delaysInstallation(retry.delays.join(', '), retry.window)
        : words.waypostWaits(effective.join(', '))}
    </Text>
  );
}

export function ProxySection({ draft, onChange, problems }: FieldProps) {
  return (
    <Disclosure
      title={words.proxy}
      summary={draft.proxy === '' ? words.asSettingsSay : withoutLogin(draft.proxy)}
      problem={problems.get('proxy')}
    >
      <TextInput
        label={words.egressProxy}
        description={words.egressProxyHint}
        autoComplete="off"
        spellCheck={false}
        value={draft.proxy}
        error={problems.get('proxy')}
        onChange={(event) => onChange({ ...draft, proxy: event.target.value.trim() })}
      />
    </Disclosure>
  );
}
