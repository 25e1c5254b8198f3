import { type ReactNode, useEffect, useState } from 'react';

interface Props {
  title: string;
  /** the present setting, in a few words */
  summary: string;
  /** the first problem of its fields: the user must see it */
  problem?: string | undefined;
  /** at first; default: false */
  isOpen?: boolean;
  children: ReactNode;
}

/** A part of a form that is closed until somebody needs it, so that the form stays short. */
export function Disclosure({ title, summary, problem, isOpen = false, children }: Props) {
  const [open, setOpen] = useState(isOpen);
  useEffect(() => {
    if (problem !== undefined) setOpen(true);
  }, [problem]);
  return (
    <details
      className="disclosure"
      open={open}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>
        <strong>{title}</strong> <span className="quiet">{summary}</span>
      </summary>
      {open && <div className="disclosed">{children}</div>}
    </details>
  );
}
