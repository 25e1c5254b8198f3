import { Group, Stack, Text, TextInput } from '@mantine/core';
import { useRead } from '../lib/api';
import { Disclosure } from '../ui/disclosure';
import { type FieldProps } from './fields';
import { problemAt } from './field-values';
import { type BatchDraft, effectiveDelays, type RetryDraft, withoutLogin } from './plan-draft';

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
  const summary = single ? 'each event alone' : `up to ${batch.maxEvents} events, within ${batch.maxWait}`;
  return (
    <Disclosure title="Batches" summary={summary} problem={problemAt(problems, 'batch')}>
      <Group align="flex-start" grow>
        <TextInput
          label="Events per request"
          description="Up to 100; empty for single events"
          inputMode="numeric"
          {...field('maxEvents')}
        />
        <TextInput
          label="Wait for more events"
          description="From 100ms to 60s"
          disabled={single}
          {...field('maxWait')}
        />
        <TextInput
          label="Maximum bytes per request"
          description="Up to 5,000,000"
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
  return (
    <Disclosure
      title="Retries"
      summary={set.length === 0 ? 'as the settings of this installation say' : set.map(inWords).join('; ')}
      problem={problemAt(problems, 'retry')}
    >
      <Stack gap="sm">
        <div>
          <TextInput
            label="Delays"
            description="Before the second, third, … attempt, such as 30s, 5m, 2h. The last one repeats"
            {...field('delays')}
          />
          <Effective delays={retry.delays} />
        </div>
        <Group align="flex-start" grow>
          <TextInput label="Window" description="Give up after 1m to 72h" {...field('window')} />
          <TextInput label="Timeout" description="Of one request: 1s to 30s" {...field('timeout')} />
          <TextInput label="Retry these statuses too" description="Such as 404, 409" {...field('on')} />
        </Group>
        <Text size="sm">
          Empty fields are as the settings of this installation say. 5xx, 408, 423, 425 and 429 are always retried.
        </Text>
      </Stack>
    </Disclosure>
  );
}

const WORDS: Record<string, string> = { delays: 'after', window: 'for', timeout: 'timeout', on: 'also' };

function inWords([name, text]: [string, string]): string {
  return `${WORDS[name] ?? ''} ${text}`;
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
        ? `Delays of this installation: ${retry.delays.join(', ')}, for ${retry.window}.`
        : `Waypost waits ${effective.join(', ')}.`}
    </Text>
  );
}

export function ProxySection({ draft, onChange, problems }: FieldProps) {
  return (
    <Disclosure
      title="Proxy"
      summary={draft.proxy === '' ? 'as the settings of this installation say' : withoutLogin(draft.proxy)}
      problem={problems.get('proxy')}
    >
      <TextInput
        label="Egress proxy"
        description="http://user:password@host:port, socks5://host:port, or none. *** keeps the stored login"
        autoComplete="off"
        spellCheck={false}
        value={draft.proxy}
        error={problems.get('proxy')}
        onChange={(event) => onChange({ ...draft, proxy: event.target.value.trim() })}
      />
    </Disclosure>
  );
}
