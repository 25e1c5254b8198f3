import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import { type Source } from '../../../shared/api/operations';
import { useChange } from '../lib/api';
import { Failure } from '../ui/ui';
import { text } from '../texts';

const words = text.source.newSource;

interface Props {
  label: string;
  suggestedName?: string;
  /** label of the button; default "Create source" */
  submit?: string;
  onMade: (source: Source) => void;
}

/** Creates a source, and asks who sends its calls: a write key in a page is public. */
export function NewSource({ label, suggestedName = '', submit, onMade }: Props) {
  const [name, setName] = useState(suggestedName);
  const [trust, setTrust] = useState<Source['trust']>('server');
  const make = useChange('POST /sources', {
    onDone: ({ data }) => {
      setName('');
      onMade(data);
    },
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate({ body: { name: name.trim(), trust } });
      }}
    >
      <Group align="flex-end">
        <TextInput label={label} value={name} onChange={(event) => setName(event.target.value)} />
        <NativeSelect
          label={words.sender}
          data={[
            { value: 'server', label: words.server },
            { value: 'browser', label: words.page },
          ]}
          value={trust}
          onChange={(event) => setTrust(event.target.value === 'browser' ? 'browser' : 'server')}
        />
        <Button
          type="submit"
          variant={submit === undefined ? 'default' : 'filled'}
          loading={make.isPending}
          disabled={name.trim() === ''}
        >
          {submit ?? words.createSource}
        </Button>
      </Group>
      {make.error && <Failure error={make.error} what={words.createTask} />}
    </form>
  );
}
