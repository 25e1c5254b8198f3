import { stringifyJson } from '../../../shared/json/json';
import { ActionIcon, Button, CopyButton } from '@mantine/core';
import { Icon } from './icons';
import { text } from '../texts';

const words = text.ui.code;

/** Texts to copy. */

export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="code">
      <pre tabIndex={0} role="group" aria-label={label}>
        {text}
      </pre>
      <Copy text={text} label={words.copy(label)} />
    </div>
  );
}

export function Copy({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <ActionIcon variant="default" className="copy" aria-label={label} onClick={copy}>
          <Icon name={copied ? 'check' : 'copy'} />
        </ActionIcon>
      )}
    </CopyButton>
  );
}

/** Copies a text that is not on the page. */
export function CopyText({ text, label }: { text: string; label: string }) {
  return (
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          size="xs"
          variant="default"
          leftSection={<Icon name={copied ? 'check' : 'copy'} />}
          onClick={copy}
        >
          {copied ? words.copied : label}
        </Button>
      )}
    </CopyButton>
  );
}

export function json(value: unknown): string {
  return stringifyJson(value, 2);
}
