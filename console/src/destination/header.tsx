import { Button, Menu, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination, type DestinationHealth } from '../../../shared/api/operations';
import { defined } from '../../../shared/collections/defined';
import { useChange } from '../lib/api';
import { absolute, capitalized, clock, count, stateInWords } from '../lib/labels';
import { useMay } from '../lib/session';
import { MoreMenu } from '../ui/more-menu';
import { Failure, LinkButton, Pill, Question } from '../ui/ui';
import { RotateSecretDialog } from './rotate-secret';
import { nextActionFor, troubleInWords } from './state-advice';
import { TestSend } from './test-send';
import { text } from '../texts';

const words = text.destination.header;

/** The state of a destination, the action that fits it, and a menu of the others. */

interface Props {
  destination: Destination;
  etag: string;
  /** of the last day; undefined: not read yet */
  health: DestinationHealth | undefined;
  onChanged: (response: { data: Destination; etag: string | undefined }) => void;
}

export function Standing({ destination, health }: Pick<Props, 'destination' | 'health'>) {
  return (
    <>
      {health && <State of={health} />}
      {!destination.hasSharedSecret && <Pill kind="unsigned">{words.unsigned}</Pill>}
    </>
  );
}

/** The dialogs that the header opens. */
type Dialog = 'test' | 'rotate' | 'disable' | 'delete' | 'sendAll' | 'cancelAll';

/** "Failing since 13:41: HTTP 500" */
function State({ of: health }: { of: DestinationHealth }) {
  const { state, stateSince } = health;
  const name = capitalized(stateInWords(state));
  const cause = troubleInWords(health);
  const at = (
    <time dateTime={stateSince} title={absolute(stateSince, Date.now())}>
      {clock(stateSince, Date.now())}
    </time>
  );
  const { since, failingSince } = text.destination.standing;
  return (
    <Pill kind={state}>
      <span>{cause === undefined ? since(name, at) : failingSince(name, at, cause)}</span>
    </Pill>
  );
}

export function Actions({ destination, etag, health, onChanged }: Props) {
  const { id, name, paused } = destination;
  const [dialog, setDialog] = useState<Dialog>();
  const waiting = health?.waiting;
  const dead = health?.series.reduce((sum, step) => sum + step.dead, 0) ?? 0;
  const may = useRights();
  const change = useChange('PATCH /destinations/{id}', {
    onDone: onChanged,
    says: ({ data }) =>
      data.enabled ? (data.paused ? words.paused : words.enabled) : words.disabled,
  });
  // Without If-Match: a stop applies regardless of other changes.
  const set = (body: { enabled?: boolean; paused?: boolean }) => change.mutate({ id, body });
  const fitting = health && nextActionFor(health.state, dead);
  const items = itemsOf({
    destination,
    waiting,
    fitting,
    may,
  });
  return (
    <>
      {may.change && (fitting === 'enable' || fitting === 'resume') && (
        <Button
          loading={change.isPending}
          onClick={() => set(fitting === 'enable' ? { enabled: true } : { paused: false })}
        >
          {fitting === 'enable' ? words.enable : words.resume}
        </Button>
      )}
      {may.test && fitting === 'test' && (
        <Button variant="default" onClick={() => setDialog('test')}>
          {words.test}
        </Button>
      )}
      {may.replay && (
        <LinkButton primary={fitting === 'replay'} to={`/replays?destination=${id}`}>
          {fitting === 'replay' ? words.replayDead(count(dead)) : words.replay}
        </LinkButton>
      )}
      {items.length > 0 && (
        <MoreMenu label={words.more} width={220}>
          {items.map(({ name, does, danger }) => (
            <Menu.Item
              key={name}
              onClick={() => (does === 'pause' ? set({ paused: !paused }) : setDialog(does))}
              {...defined({ color: danger ? 'red' : undefined })}
            >
              {name}
            </Menu.Item>
          ))}
        </MoreMenu>
      )}
      <Modal
        opened={dialog === 'test'}
        onClose={() => setDialog(undefined)}
        title={words.testOf(name)}
        size="xl"
      >
        <TestSend destination={destination} />
      </Modal>
      <RotateSecretDialog
        destination={destination}
        etag={etag}
        opened={dialog === 'rotate'}
        onClose={() => setDialog(undefined)}
        onRotated={onChanged}
      />
      <Questions
        destination={destination}
        etag={etag}
        waiting={waiting}
        dialog={dialog}
        onClose={() => setDialog(undefined)}
        onDisable={() => set({ enabled: false })}
      />
      {change.error && <Failure error={change.error} what={words.changeTask} />}
    </>
  );
}

/** What the user may do to the destination. */
function useRights() {
  return {
    test: useMay('POST /destinations/{id}/test'),
    change: useMay('PATCH /destinations/{id}'),
    delete: useMay('DELETE /destinations/{id}'),
    replay: useMay('POST /replays'),
    retry: useMay('POST /destinations/{id}/retry'),
  };
}

interface Item {
  name: string;
  does: Dialog | 'pause';
  /** it cannot be undone */
  danger?: boolean;
}

interface MenuContext {
  destination: Destination;
  /** undefined: not read yet */
  waiting: number | undefined;
  /** the action that has a button beside the menu */
  fitting: ReturnType<typeof nextActionFor> | undefined;
  may: ReturnType<typeof useRights>;
}

/** Returns the actions of the menu, the harmless ones first. */
function itemsOf({ destination, waiting = 0, fitting, may }: MenuContext): Item[] {
  const { enabled, paused, hasSharedSecret } = destination;
  const items: [isPossible: boolean, item: Item][] = [
    [may.test && fitting !== 'test', { name: words.test, does: 'test' }],
    [
      may.change && enabled && fitting !== 'resume',
      { name: paused ? words.resume : words.pause, does: 'pause' },
    ],
    [may.retry && waiting > 0 && enabled && !paused, { name: words.sendAllNow, does: 'sendAll' }],
    [may.delete && hasSharedSecret, { name: words.rotateSecret, does: 'rotate' }],
    [may.retry && waiting > 0, { name: words.cancelAllWaiting, does: 'cancelAll' }],
    [may.change && enabled, { name: words.disable, does: 'disable' }],
    [may.delete, { name: words.delete, does: 'delete', danger: true }],
  ];
  return items.flatMap(([isPossible, item]) => (isPossible ? [item] : []));
}

interface QuestionsProps {
  destination: Destination;
  etag: string;
  /** undefined: not read yet */
  waiting: number | undefined;
  dialog: Dialog | undefined;
  onClose: () => void;
  onDisable: () => void;
}

function Questions({ destination, etag, waiting, dialog, onClose, onDisable }: QuestionsProps) {
  const { id, name } = destination;
  const navigate = useNavigate();
  // Each job has its own page.
  const onDone = ({ data }: { data: { id: string } }) => void navigate(`/replays/${data.id}`);
  const retry = useChange('POST /destinations/{id}/retry', { onDone });
  const cancel = useChange('POST /destinations/{id}/cancel', { onDone });
  const remove = useChange('DELETE /destinations/{id}', {
    onDone: () => void navigate('/destinations'),
  });
  const many = words.waitingMessages(waiting ?? 0);
  const error = retry.error ?? cancel.error;
  return (
    <>
      <Question
        opened={dialog === 'disable'}
        onClose={onClose}
        label={words.disable}
        question={words.disableQuestion}
        onConfirm={onDisable}
      >
        <Text>{words.disableHint(waitingInWords(waiting))}</Text>
      </Question>
      <Question
        opened={dialog === 'delete'}
        onClose={onClose}
        danger
        label={words.delete}
        question={text.ui.deletion.question(name)}
        onConfirm={() => remove.mutate({ id, ifMatch: etag })}
      >
        <Text>{words.deletionHint(waitingInWords(waiting))}</Text>
      </Question>
      <Question
        opened={dialog === 'sendAll'}
        onClose={onClose}
        label={words.sendAllNow}
        question={words.sendAllQuestion(many)}
        onConfirm={() => retry.mutate({ id, body: {} })}
      >
        <Text>{words.sendAllHint}</Text>
      </Question>
      <Question
        opened={dialog === 'cancelAll'}
        onClose={onClose}
        dismiss={words.keepWaiting}
        label={words.cancelAllWaiting}
        question={words.cancelAllQuestion(many)}
        onConfirm={() => cancel.mutate({ id })}
      >
        <Text>{words.cancelAllHint}</Text>
      </Question>
      {error && <Failure error={error} what={words.changeAllTask} />}
      {remove.error && <Failure error={remove.error} what={text.ui.deletion.task} />}
    </>
  );
}

function waitingInWords(waiting: number | undefined): string {
  if (waiting === undefined) return words.waitingCancelled;
  if (waiting === 0) return words.noneWaits;
  return words.willBeCancelled(words.waitingMessages(waiting));
}
