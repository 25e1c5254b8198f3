import { Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { useNavigate, useParams } from 'react-router';
import { type Audience, type ComputedTrait } from '../../../shared/api/operations';
import { EditAudience, type EditProps, EditTrait } from '../audience/edit';
import { Members } from '../audience/members';
import { type Kind, SizeOverTime, Syncs } from '../audience/history';
import { StatusView } from '../audience/status';
import { UploadMembers } from '../audience/upload';
import { type Read } from '../destination/save';
import { call, useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useFilters } from '../ui/filters';
import { Deletion } from '../ui/deletion';
import { LinkButton, Page, Section, Unread } from '../ui/ui';
import { text } from '../texts';

const words = text.setup.audience;

/** One audience or computed trait: progress, members, history, settings, and deletion. */

const SOON_MS = 1_500;
const LATER_MS = 5_000;

type Definition = Audience | ComputedTrait;

/** Polls often while the status changes. */
function every(last: Definition | undefined): number {
  return last?.status.phase === 'live' && last.status.waiting === 0 ? LATER_MS : SOON_MS;
}

export function AudiencePage() {
  const { id = '' } = useParams();
  const read = useRead('GET /audiences/{id}', { id }, { every });
  const operator = useMay('PATCH /audiences/{id}/members');
  if (!read.data || read.error) {
    return <Unloaded title={words.audience} read={read} what={words.theAudience} />;
  }
  const { data: audience } = read.data;
  return (
    <Frame of={audience}>
      <Whole
        key={id}
        kind="audiences"
        read={read.data}
        Edit={EditAudience}
        upload={(reread) =>
          audience.condition === null &&
          operator && (
            <UploadMembers
              audience={audience}
              onUploaded={() => void call('GET /audiences/{id}', { id }).then(reread)}
            />
          )
        }
      />
    </Frame>
  );
}

export function TraitPage() {
  const { id = '' } = useParams();
  const read = useRead('GET /computed-traits/{id}', { id }, { every });
  if (!read.data || read.error) {
    return <Unloaded title={words.computedTrait} read={read} what={words.theTrait} />;
  }
  return (
    <Frame of={read.data.data}>
      <Whole key={id} kind="computed-traits" read={read.data} Edit={EditTrait} />
    </Frame>
  );
}

function Unloaded({
  title,
  ...unread
}: {
  title: string;
  read: { error: Error | null; refetch: () => unknown };
  what: string;
}) {
  return (
    <Page title={title}>
      <Unread {...unread} />
    </Page>
  );
}

function Frame({ of: { id, name, source }, children }: { of: Definition; children: ReactNode }) {
  const admin = useMay('GET /audit');
  return (
    <Page
      title={name}
      actions={
        <>
          <LinkButton to={`/deliveries?source=${source}`}>{words.deliveries}</LinkButton>
          <LinkButton to={`/debugger?source=${source}`}>{words.seeLive}</LinkButton>
          {admin && <LinkButton to={`/audit?entry=${id}`}>{words.changes}</LinkButton>}
        </>
      }
    >
      {children}
    </Page>
  );
}

interface WholeProps<T extends Definition> {
  kind: Kind;
  read: Read<T>;
  Edit: (props: EditProps<T>) => ReactNode;
  upload?: (reread: (answer: Read<T>) => void) => ReactNode;
}

function Whole<T extends Definition>({ kind, read, Edit, upload }: WholeProps<T>) {
  const { data: entry, etag = '' } = read;
  const filters = useFilters();
  const operator = useMay(`PATCH /${kind}/{id}`);
  const admin = useMay(`DELETE /${kind}/{id}`);
  // The form keeps its initial version: changes by others appear as a conflict, never silently.
  const [begun, setBegun] = useState({ entry, etag, times: 0 });
  const restart = ({ data, etag: tag = '' }: Read<T>) =>
    setBegun(({ times }) => ({ entry: data, etag: tag, times: times + 1 }));
  // The user's own upload is not a conflict, and keeps the edits of the form.
  const beside = ({ data, etag: tag = '' }: Read<T>) =>
    setBegun((before) =>
      data.version === before.entry.version + 1 ? { ...before, entry: data, etag: tag } : before,
    );
  const shown = { kind, id: entry.id, filters };
  useFreshMembers(kind, entry);
  return (
    <Stack>
      <StatusView of={entry} />
      {upload?.(beside)}
      <SizeOverTime {...shown} />
      <Members {...shown} />
      <Syncs {...shown} />
      <Section title={words.settings}>
        <Edit
          key={begun.times}
          entry={begun.entry}
          etag={begun.etag}
          onSaved={restart}
          disabled={!operator}
        />
      </Section>
      {admin && <Delete kind={kind} of={entry} etag={etag} />}
    </Stack>
  );
}

/** Reads the members again after a sync or an upload has changed them. */
function useFreshMembers(kind: Kind, { id, status }: Definition): void {
  const queries = useQueryClient();
  const state = `${status.lastSync?.at ?? ''} ${status.members} ${status.upload}`;
  const shown = useRef(state);
  useEffect(() => {
    if (shown.current === state) return;
    shown.current = state;
    void queries.invalidateQueries({ queryKey: [`GET /${kind}/{id}/members`, { id }] });
  }, [queries, kind, id, state]);
}

function Delete({ kind, of: { id, name }, etag }: { kind: Kind; of: Definition; etag: string }) {
  const navigate = useNavigate();
  const list = kind === 'audiences' ? '/audiences' : '/audiences/traits';
  const remove = useChange(`DELETE /${kind}/{id}`, { onDone: () => void navigate(list) });
  return (
    <Deletion name={name} remove={remove} onConfirm={() => remove.mutate({ id, ifMatch: etag })}>
      <Text>{words.deletionHint}</Text>
    </Deletion>
  );
}
