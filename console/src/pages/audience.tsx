import { Menu, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useNavigate, useParams } from 'react-router';
import { type Audience, type ComputedTrait } from '../../../shared/api/operations';
import { compact } from '../../../shared/collections/defined';
import { EditAudience, type EditProps, EditTrait } from '../audience/edit';
import { Members } from '../audience/members';
import { type Kind, SizeOverTime, Syncs } from '../audience/history';
import { Phase, StatusView } from '../audience/status';
import { UploadMembers } from '../audience/upload';
import { type Read, useBegun } from '../destination/save';
import { useChange, useRead } from '../lib/api';
import { useMay } from '../lib/session';
import { useFilters } from '../ui/filters';
import { MoreMenu } from '../ui/more-menu';
import { Tabs } from '../ui/tabs';
import { Failure, LinkButton, Page, Question, Section, Unread } from '../ui/ui';
import { Changes } from './audit';
import { text } from '../texts';

const words = text.setup.audience;

const WITHIN = { name: text.setup.audiences.title, to: '/audiences' };

const SOON_MS = 1_500;
const LATER_MS = 5_000;

type Definition = Audience | ComputedTrait;

/** Polls often while the status changes. */
function every(last: Definition | undefined): number {
  return last?.status.phase === 'live' && last.status.waiting === 0 ? LATER_MS : SOON_MS;
}

/** One audience in tabs: its state over time, its members, its settings, and who changed them. */
export function AudiencePage() {
  const { id = '' } = useParams();
  const read = useRead('GET /audiences/{id}', { id }, { every });
  const operator = useMay('PATCH /audiences/{id}/members');
  if (!read.data || read.error) {
    return (
      <Page title={words.audience} within={WITHIN}>
        <Unread read={read} what={words.theAudience} />
      </Page>
    );
  }
  const { data: audience } = read.data;
  return (
    <Loaded
      key={id}
      kind="audiences"
      read={read.data}
      Edit={EditAudience}
      upload={
        audience.condition === null &&
        operator && <UploadMembers audience={audience} onUploaded={() => void read.refetch()} />
      }
    />
  );
}

/** One computed trait, in the same tabs. */
export function TraitPage() {
  const { id = '' } = useParams();
  const read = useRead('GET /computed-traits/{id}', { id }, { every });
  if (!read.data || read.error) {
    return (
      <Page title={words.computedTrait} within={WITHIN}>
        <Unread read={read} what={words.theTrait} />
      </Page>
    );
  }
  return <Loaded key={id} kind="computed-traits" read={read.data} Edit={EditTrait} />;
}

interface Props<T extends Definition> {
  kind: Kind;
  read: Read<T>;
  Edit: (props: EditProps<T>) => ReactNode;
  /** of the members */
  upload?: ReactNode;
}

function Loaded<T extends Definition>({ kind, read, Edit, upload }: Props<T>) {
  const { data: entry, etag = '' } = read;
  const { id, name, status } = entry;
  const { tab = '' } = useParams();
  const shown = { kind, id, filters: useFilters() };
  useFreshMembers(kind, entry);
  return (
    <Page
      title={name}
      within={WITHIN}
      state={<Phase of={status} />}
      actions={<Actions kind={kind} of={entry} etag={etag} />}
      tabs={<Parts kind={kind} id={id} />}
    >
      {tab === '' && (
        <Stack>
          <StatusView of={entry} />
          <SizeOverTime {...shown} />
          <Syncs {...shown} />
        </Stack>
      )}
      {/* Hidden and not left out: an upload goes on, and its outcome is shown on return. */}
      {upload && <div hidden={tab !== 'members'}>{upload}</div>}
      {tab === 'members' && <Members {...shown} />}
      {tab === 'settings' && <Settings kind={kind} read={read} Edit={Edit} />}
      {tab === 'changes' && <Changes entry={id} />}
    </Page>
  );
}

/** The path of the list that the entry is in; its page is below. */
const LISTS: Readonly<Record<Kind, string>> = {
  audiences: '/audiences',
  'computed-traits': '/audiences/traits',
};

function Parts({ kind, id }: { kind: Kind; id: string }) {
  const admin = useMay('GET /audit');
  const page = `${LISTS[kind]}/${id}`;
  const { values, members } = text.audience.members;
  const tabs = compact([
    { to: page, name: words.overview },
    { to: `${page}/members`, name: kind === 'audiences' ? members : values },
    { to: `${page}/settings`, name: words.settings },
    admin ? { to: `${page}/changes`, name: words.changes } : undefined,
  ]);
  return <Tabs label={words.parts} tabs={tabs} />;
}

function Settings<T extends Definition>({ kind, read, Edit }: Omit<Props<T>, 'upload'>) {
  const operator = useMay(`PATCH /${kind}/{id}`);
  const { begun, restart } = useBegun(read);
  return (
    <Section title={words.settings}>
      <Edit
        key={begun.times}
        entry={begun.data}
        etag={begun.etag}
        onSaved={restart}
        disabled={!operator}
      />
    </Section>
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

function Actions({
  kind,
  of: { id, name, source },
  etag,
}: {
  kind: Kind;
  of: Definition;
  etag: string;
}) {
  const mayDelete = useMay(`DELETE /${kind}/{id}`);
  const [asks, setAsks] = useState(false);
  const navigate = useNavigate();
  const remove = useChange(`DELETE /${kind}/{id}`, { onDone: () => void navigate(LISTS[kind]) });
  return (
    <>
      <LinkButton to={`/deliveries?source=${source}`}>{words.deliveries}</LinkButton>
      <MoreMenu label={words.more} width={200}>
        <Menu.Item component={Link} to={`/debugger?source=${source}`}>
          {words.seeLive}
        </Menu.Item>
        {mayDelete && (
          <Menu.Item color="red" onClick={() => setAsks(true)}>
            {text.ui.deletion.delete}
          </Menu.Item>
        )}
      </MoreMenu>
      <Question
        opened={asks}
        onClose={() => setAsks(false)}
        danger
        label={text.ui.deletion.delete}
        question={text.ui.deletion.question(name)}
        onConfirm={() => remove.mutate({ id, ifMatch: etag })}
      >
        <Text>{words.deletionHint}</Text>
      </Question>
      {remove.error && <Failure error={remove.error} what={text.ui.deletion.task} />}
    </>
  );
}
