import { Alert, Button, FileInput, Group, Progress, Radio, Stack, Text } from '@mantine/core';
import { useRef, useState } from 'react';
import { type Audience, type UploadedMembers } from '../../../shared/api/operations';
import { Cancelled, type Upload, uploadMembers } from '../lib/upload';
import { Code } from '../ui/code';
import { Failure, Section } from '../ui/ui';
import { type Glance, glanceAt, membersOf } from './members-file';
import { text } from '../texts';

const words = text.audience.upload;

/** Uploads a file of members and shows the progress. */

type Method = 'PUT' | 'PATCH';

type State =
  | { at: 'idle' }
  | { at: 'reading' }
  | { at: 'sending'; part: number; lines: number }
  | { at: 'done'; answer: UploadedMembers }
  | { at: 'empty' }
  | { at: 'failed'; error: unknown };

interface Props {
  audience: Audience;
  onUploaded: () => void;
}

export function UploadMembers({ audience, onUploaded }: Props) {
  const [file, setFile] = useState<File | null>(null);
  const [glance, setGlance] = useState<Glance>();
  const [method, setMethod] = useState<Method>('PUT');
  const { state, begin, cancel } = useUpload(audience.id, onUploaded);
  const busy = state.at === 'reading' || state.at === 'sending';
  const choose = (chosen: File | null) => {
    setFile(chosen);
    setGlance(undefined);
    if (chosen) void glanceAt(chosen).then(setGlance, () => undefined);
  };
  return (
    <Section title={words.upload}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (file) void begin(file, method);
        }}
      >
        <Stack gap="sm">
          <FileInput
            label={words.file}
            description={words.fileHint}
            placeholder={words.fileExample}
            value={file}
            onChange={choose}
            disabled={busy}
          />
          {glance && <FirstLines {...glance} />}
          <Radio.Group label={words.lines} value={method} onChange={(value) => setMethod(value)}>
            <Stack gap="xs" mt="xs">
              <Radio value="PUT" label={words.replaceList} />
              <Radio value="PATCH" label={words.addAndRemove} />
            </Stack>
          </Radio.Group>
          <Group>
            <Button
              type="submit"
              loading={busy}
              disabled={file === null || glance?.problem !== undefined}
            >
              {words.upload}
            </Button>
            {busy && (
              <Button variant="default" onClick={cancel}>
                {words.cancel}
              </Button>
            )}
          </Group>
          <div role="status">
            <Progressing state={state} taken={audience.status.upload} />
          </div>
        </Stack>
      </form>
    </Section>
  );
}

/** Shows how the first lines of the file are read. */
function FirstLines({ lines, problem }: Glance) {
  if (problem !== undefined) return <Alert color="red">{problem}</Alert>;
  if (lines.length === 0) return null;
  return (
    <div>
      <Text size="sm">{words.firstLinesReadAs}</Text>
      <Code label={words.firstLines} text={lines.join('\n')} />
    </div>
  );
}

function Progressing({ state, taken }: { state: State; taken: number }) {
  switch (state.at) {
    case 'idle':
      return null;
    case 'reading':
      return <Text size="sm">{words.readingFile}</Text>;
    case 'sending': {
      const percent = Math.floor(state.part * 100);
      return (
        <>
          <Text size="sm">{words.percentSent(percent, words.linesCounted(state.lines))}</Text>
          <Progress value={percent} aria-label={words.sent} />
        </>
      );
    }
    case 'done': {
      const { upload, lines } = state.answer;
      return (
        <Alert color="green" title={words.uploaded(words.members(lines))}>
          {taken >= upload ? words.applied : words.beingApplied}
        </Alert>
      );
    }
    case 'empty':
      return (
        <Alert color="yellow" title={words.fileEmpty}>
          {words.fileEmptyHint}
        </Alert>
      );
    case 'failed':
      if (state.error instanceof Cancelled) return <Text size="sm">{words.cancelled}</Text>;
      return <Failure error={state.error} what={words.uploadTask} />;
  }
}

function useUpload(id: string, onUploaded: () => void) {
  const [state, setState] = useState<State>({ at: 'idle' });
  const under = useRef<Upload>(undefined);
  const begin = async (file: File, method: Method) => {
    setState({ at: 'reading' });
    try {
      const { body, lines } = await membersOf(file);
      if (lines === 0) {
        setState({ at: 'empty' });
        return;
      }
      setState({ at: 'sending', part: 0, lines });
      under.current = uploadMembers({
        id,
        method,
        body,
        onProgress: (part) => setState({ at: 'sending', part, lines }),
      });
      const answer = await under.current.done;
      setState({ at: 'done', answer });
      onUploaded();
    } catch (error) {
      setState({ at: 'failed', error });
    } finally {
      under.current = undefined;
    }
  };
  return { state, begin, cancel: () => under.current?.cancel() };
}
