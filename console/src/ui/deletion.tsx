import { type ReactNode } from 'react';
import { Confirmed, Failure } from './ui';

interface Props {
  /** of what is to go */
  name: string;
  /** the change that deletes it */
  remove: { isPending: boolean; error: Error | null };
  onConfirm: () => void;
  /** what it means */
  children: ReactNode;
}

/** The button by which something is deleted for good, which says first what that means. */
export function Deletion({ name, remove, onConfirm, children }: Props) {
  return (
    <div>
      <Confirmed danger label="Delete" question={`Delete ${name}?`} busy={remove.isPending} onConfirm={onConfirm}>
        {children}
      </Confirmed>
      {remove.error && <Failure error={remove.error} what="deleting it" />}
    </div>
  );
}
