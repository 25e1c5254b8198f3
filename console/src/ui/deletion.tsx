import { type ReactNode } from 'react';
import { Confirmed, Failure } from './ui';
import { text } from '../texts';

const words = text.ui.deletion;

interface Props {
  /** name of the entry to delete */
  name: string;
  /** the mutation that deletes it */
  remove: { isPending: boolean; error: Error | null };
  onConfirm: () => void;
  /** the consequences */
  children: ReactNode;
}

/** A button that deletes an entry for good, after it has shown the consequences. */
export function Deletion({ name, remove, onConfirm, children }: Props) {
  return (
    <div>
      <Confirmed
        danger
        label={words.delete}
        question={words.question(name)}
        busy={remove.isPending}
        onConfirm={onConfirm}
      >
        {children}
      </Confirmed>
      {remove.error && <Failure error={remove.error} what={words.task} />}
    </div>
  );
}
