import { Button, Menu, Text } from '@mantine/core';
import { useState } from 'react';
import { useNavigate } from 'react-router';
import { type Source, type SourceRow } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { useMay } from '../lib/session';
import { Copy } from '../ui/code';
import { MoreMenu } from '../ui/more-menu';
import { Failure, LinkButton, Pill, Question } from '../ui/ui';
import { nextActionFor } from './activity';
import { text } from '../texts';

const words = text.source.header;

/** The state of a source, its write key, the action that fits it, and a menu of the others. */

export function Standing({ source: { enabled, writeKey } }: { source: Source }) {
  return (
    <>
      <Pill kind={enabled ? 'on' : 'off'} />
      {writeKey === null ? (
        <span className="head-state">{words.keysHidden}</span>
      ) : (
        <span className="key">
          <span className="quiet">{words.writeKey}</span>
          <code>{writeKey}</code>
          <Copy text={writeKey} label={words.copyWriteKey} />
        </span>
      )}
    </>
  );
}

interface Props {
  source: Source;
  etag: string;
  /** undefined: not known */
  activity: SourceRow['activity'];
}

export function Actions({ source, etag, activity }: Props) {
  const { id, name, enabled } = source;
  const [dialog, setDialog] = useState<'disable' | 'delete'>();
  const navigate = useNavigate();
  const mayChange = useMay('PATCH /sources/{id}');
  const mayDelete = useMay('DELETE /sources/{id}');
  const mayConnect = useMay('POST /destinations');
  const change = useChange('PATCH /sources/{id}', {
    says: ({ data }) => (data.enabled ? words.enabled : words.disabled),
  });
  const remove = useChange('DELETE /sources/{id}', { onDone: () => void navigate('/sources') });
  // Without If-Match: a stop applies regardless of other changes.
  const set = (on: boolean) => change.mutate({ id, body: { enabled: on } });
  const fitting = nextActionFor(source, activity);
  const mayDisable = mayChange && enabled;
  return (
    <>
      {mayChange && fitting === 'enable' && (
        <Button loading={change.isPending} onClick={() => set(true)}>
          {words.enable}
        </Button>
      )}
      {fitting === 'send' && (
        <LinkButton primary to={`/sources/${id}/code`}>
          {words.sendFirst}
        </LinkButton>
      )}
      {mayConnect && fitting !== 'enable' && (
        <LinkButton primary={fitting === 'connect'} to={`/connect/new?sources=${id}`}>
          {words.connect}
        </LinkButton>
      )}
      {(mayDisable || mayDelete) && (
        <MoreMenu label={words.more} width={200}>
          {mayDisable && (
            <Menu.Item onClick={() => setDialog('disable')}>{words.disable}</Menu.Item>
          )}
          {mayDelete && (
            <Menu.Item color="red" onClick={() => setDialog('delete')}>
              {words.delete}
            </Menu.Item>
          )}
        </MoreMenu>
      )}
      <Question
        opened={dialog === 'disable'}
        onClose={() => setDialog(undefined)}
        label={words.disable}
        question={words.disableQuestion}
        onConfirm={() => set(false)}
      >
        <Text>{words.disableHint}</Text>
      </Question>
      <Question
        opened={dialog === 'delete'}
        onClose={() => setDialog(undefined)}
        danger
        label={words.delete}
        question={text.ui.deletion.question(name)}
        onConfirm={() => remove.mutate({ id, ifMatch: etag })}
      >
        <Text>{words.deletionHint}</Text>
      </Question>
      {change.error && <Failure error={change.error} what={words.changeTask} />}
      {remove.error && <Failure error={remove.error} what={text.ui.deletion.task} />}
    </>
  );
}
