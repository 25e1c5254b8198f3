import { type ReactNode } from 'react';
import { TextLink } from './ui';

interface Props {
  name: string;
  /** the list behind the value */
  to?: string;
  value: string;
  /** what the value is made of, or how it was over time */
  spark?: ReactNode;
  note?: ReactNode;
  /** the value counts what was lost */
  lost?: boolean;
}

/** One number of a row of numbers, in a `<dl className="tiles">`. */
export function Tile({ name, to, value, spark, note, lost = false }: Props) {
  return (
    <div className={lost ? 'card tile tile-lost' : 'card tile'}>
      <dt>{to === undefined ? name : <TextLink to={to}>{name}</TextLink>}</dt>
      <dd>{value}</dd>
      {spark !== undefined && (
        <dd className="spark" aria-hidden="true">
          {spark}
        </dd>
      )}
      {note !== undefined && <dd className="note">{note}</dd>}
    </div>
  );
}
