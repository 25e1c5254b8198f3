import { Button, Group, Stack, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useNavigate } from 'react-router';
import { type Destination } from '../../../shared/api/operations';
import { DESTINATION_LABELS } from '../destination/conflict';
import { type Read, Unsaved } from '../destination/save';
import { useDestinationForm } from '../destination/use-form';
import { LinkButton } from '../ui/ui';
import { useUnsaved } from '../ui/unsaved';
import { text } from '../texts';

const words = text.connect.storedStep;

export interface Stored {
  destination: Destination;
  etag: string;
}

type Form = ReturnType<typeof useDestinationForm>;

interface Props extends Stored {
  /** the step after this one */
  next: string;
  /** label of the button that saves and goes there */
  submit: string;
  /** to follow "Could not" */
  what: string;
  /** also offers to go there without saving */
  mayCancel?: boolean;
  /** @param stored the version that the form edits */
  children: (form: Form, stored: Stored) => ReactNode;
}

/**
 * Changes the stored destination, then shows the next step. It skips the change if there is none.
 */
export function StoredStep({ destination, etag, ...rest }: Props) {
  // The form keeps its initial version: changes by others appear as a conflict, never silently.
  const [begun, setBegun] = useState({ destination, etag, times: 0 });
  const restart = (theirs: Read) =>
    setBegun(({ times }) => ({
      destination: theirs.data,
      etag: theirs.etag ?? '',
      times: times + 1,
    }));
  return (
    <StepForm
      key={begun.times}
      {...rest}
      destination={begun.destination}
      etag={begun.etag}
      onDrop={restart}
    />
  );
}

function StepForm(props: Props & { onDrop: (theirs: Read) => void }) {
  const { destination, etag, submit, what, mayCancel = false, children, onDrop } = props;
  const next = `/connect/${destination.id}/${props.next}`;
  const navigate = useNavigate();
  const goOn = () => {
    saved();
    void navigate(next);
  };
  const form = useDestinationForm(destination, goOn);
  const { patch, changed, save, own } = form;
  const saved = useUnsaved(changed);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (changed) save.send(patch, etag);
        else goOn();
      }}
    >
      <Stack>
        {children(form, { destination, etag })}
        <Unsaved
          saving={save}
          names={DESTINATION_LABELS}
          before={destination}
          patch={patch}
          what={what}
          onDrop={onDrop}
        />
        {!save.theirs && (
          <Group>
            <Button type="submit" loading={save.busy} disabled={own.size > 0}>
              {submit}
            </Button>
            {own.size > 0 && <Text size="sm">{[...own.values()][0]}</Text>}
            {mayCancel && <LinkButton to={next}>{words.cancel}</LinkButton>}
          </Group>
        )}
      </Stack>
    </form>
  );
}
