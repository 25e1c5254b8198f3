import { Button, NativeSelect, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type Operations } from '../../../shared/api/operations';
import { call, useRead } from '../lib/api';
import { relative } from '../lib/labels';
import { fieldProblems } from '../lib/problems';
import { useMay } from '../lib/session';
import { Code } from '../ui/code';
import { titleOf, userOf } from '../ui/event-list';
import { JsonView } from '../ui/json-view';
import { Failure } from '../ui/ui';
import { jsonIn } from './attempt-text';
import { type Draft, previewOf } from './draft';
import { text } from '../texts';

const words = text.destination.preview;

/**
 * The request that a destination would get for a recent event, by the settings in the form. Nothing
 * is sent.
 */

const TYPING_MS = 300;
const EVENTS = 50;
/** The API names a field of the destination below this one. */
const DESTINATION = 'destination/';

type Rendered = Operations['POST /destinations/preview']['response'];

interface PreviewState {
  may: boolean;
  open: boolean;
  setOpen: (open: boolean) => void;
  /** id of the event; empty: a sample */
  event: string;
  setEvent: (event: string) => void;
  events: { value: string; label: string }[];
  rendered: Rendered | undefined;
  error: Error | null;
  /** by field of the destination; `event` for the event itself */
  problems: ReadonlyMap<string, string>;
}

/** Renders the draft whenever the user stops typing, once the preview is open. */
export function usePreview(draft: Draft, hasSecret: boolean): PreviewState {
  const may = useMay('POST /destinations/preview');
  const [open, setOpen] = useState(false);
  const [chosen, setEvent] = useState<string>();
  const enabled = may && open;
  const recent = useRead(
    'GET /events',
    { query: { accepted: 'true', limit: EVENTS } },
    { enabled },
  );
  const events = (recent.data?.data.data ?? []).filter(({ source }) =>
    draft.sources.includes(source),
  );
  const event = chosen ?? events[0]?.id ?? '';
  const [settled] = useDebouncedValue(draft, TYPING_MS);
  const body = previewOf(settled, hasSecret, event);
  const preview = useQuery({
    queryKey: ['POST /destinations/preview', body],
    queryFn: ({ signal }) => call('POST /destinations/preview', { body, signal }),
    enabled: enabled && recent.isFetched,
    placeholderData: keepPreviousData,
  });
  const error = enabled ? preview.error : null;
  return {
    may,
    open,
    setOpen,
    event,
    setEvent,
    error,
    events: events.map(({ id, at, call: content }) => ({
      value: id,
      label: [`${titleOf(content)},`, userOf(content), relative(at, Date.now())]
        .filter((part) => part !== '')
        .join(' '),
    })),
    rendered: error ? undefined : preview.data?.data,
    problems: new Map(
      [...fieldProblems(error)].map(([field, problem]) => [
        field.replace(DESTINATION, ''),
        problem,
      ]),
    ),
  };
}

export function Preview({ of: preview, url }: { of: PreviewState; url: string }) {
  const { may, open, setOpen, events, event, setEvent, rendered, error, problems } = preview;
  if (!may) return null;
  if (!open) {
    return (
      <Button className="start" variant="default" onClick={() => setOpen(true)}>
        {words.previewEvent}
      </Button>
    );
  }
  return (
    <section aria-label={words.preview}>
      <Stack gap="sm">
        <NativeSelect
          label={words.previewWith}
          description={words.previewWithHint}
          data={[...events, { value: '', label: words.aSample }]}
          value={event}
          error={problems.get('event')}
          onChange={({ target: { value } }) => setEvent(value)}
        />
        <div aria-live="polite">
          {error && <Problem error={error} problems={problems} />}
          {rendered && <Request rendered={rendered} url={url} />}
        </div>
      </Stack>
    </section>
  );
}

function Problem({ error, problems }: { error: Error; problems: ReadonlyMap<string, string> }) {
  const [field, problem] = [...problems][0] ?? [];
  if (field === undefined) return <Failure error={error} what={words.renderTask} />;
  return (
    <Text size="sm" className="bad">
      {words.notRendered(problem)}
    </Text>
  );
}

function Request({
  rendered: { method, headers, body },
  url,
}: {
  rendered: Rendered;
  url: string;
}) {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const value = jsonIn(body);
  return (
    <>
      <Code label={words.previewedRequest} text={[`${method} ${url}`, ...lines].join('\n')} />
      {value === undefined ? (
        <Code label={words.previewedBody} text={body} />
      ) : (
        <JsonView label={words.previewedBody} value={value} />
      )}
    </>
  );
}
