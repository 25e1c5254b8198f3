import { ExactNumber, stringifyJson } from '../../../shared/json/json';
import { type ReactNode } from 'react';
import { Copy, json } from './code';
import { Marked } from './marked';
import { text } from '../texts';

const words = text.ui.jsonView;

/** JSON in colours, whose objects and lists fold. */

/** Deeper values start folded. */
const OPEN_DEPTH = 4;
/** A longer list starts folded. */
const LONG = 50;

export function JsonView({ value, label }: { value: unknown; label: string }) {
  return (
    <div className="code">
      <div className="json" tabIndex={0} role="group" aria-label={label}>
        <Value of={value} depth={0} end="" />
      </div>
      <Copy text={json(value)} label={words.copy(label)} />
    </div>
  );
}

interface ValueProps {
  of: unknown;
  depth: number;
  /** its name, if it is in an object */
  name?: string;
  /** `,` unless it is the last one */
  end: string;
}

function Value({ of, depth, name, end }: ValueProps) {
  const label =
    name === undefined ? null : (
      <span className="json-key">
        <Marked>{JSON.stringify(name)}</Marked>:{' '}
      </span>
    );
  const isNumber = of instanceof ExactNumber;
  if (typeof of === 'object' && of !== null && !isNumber) {
    return (
      <Folding of={of} depth={depth} end={end}>
        {label}
      </Folding>
    );
  }
  return (
    <div>
      {label}
      <span className={`json-${of === null ? 'null' : isNumber ? 'number' : typeof of}`}>
        <Marked>{stringifyJson(of)}</Marked>
      </span>
      {end}
    </div>
  );
}

function Folding({
  of,
  depth,
  end,
  children,
}: {
  of: object;
  depth: number;
  end: string;
  children: ReactNode;
}) {
  const isList = Array.isArray(of);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const entries = Object.entries(of as Record<string, unknown>);
  if (entries.length === 0) {
    return (
      <div>
        {children}
        {open + close + end}
      </div>
    );
  }
  const size = isList ? words.items(entries.length) : words.fields(entries.length);
  return (
    <details open={depth < OPEN_DEPTH && entries.length <= LONG}>
      <summary>
        {children}
        {open}
        <span className="json-folded">
          {' '}
          … {size} {close + end}
        </span>
      </summary>
      <div className="json-inner">
        {entries.map(([key, value], i) => (
          <Value
            key={key}
            of={value}
            depth={depth + 1}
            {...(!isList && { name: key })}
            end={i === entries.length - 1 ? '' : ','}
          />
        ))}
      </div>
      {close + end}
    </details>
  );
}
