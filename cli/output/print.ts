import { stringifyJson } from '../../shared/json/json';
import { printableJson, printableLines } from '../../shared/runtime/printable';
import { type ProcessContext } from '../process-context';
import { wantsColour } from './paint';
import { type Column, fields, table } from './table';

/** Prints the result of a command as text, or with `--json` as one JSON text a line. */
export interface Printer {
  readonly json: boolean;
  readonly colour: boolean;
  /** a list */
  rows<Row>(columns: Column<Row>[], rows: Row[], empty: string): void;
  /** one object: as JSON, or as pairs for people */
  thing(value: unknown, pairs: [string, string | number | boolean | null | undefined][]): void;
  /** one element of a stream */
  line(value: unknown, text: string): void;
  /** for people only, on standard error */
  note(text: string): void;
}

export function createPrinter(world: ProcessContext, json: boolean): Printer {
  const colour = wantsColour(world.env, world.terminal);
  const out = (value: unknown) => world.out(`${printableJson(stringifyJson(value))}\n`);
  return {
    json,
    colour,
    rows: (columns, rows, empty) => {
      if (json) for (const row of rows) out(row);
      else if (rows.length === 0) world.err(`${printableLines(empty)}\n`);
      else world.out(table(columns, rows, colour));
    },
    thing: (value, pairs) => (json ? out(value) : world.out(fields(pairs))),
    line: (value, text) => (json ? out(value) : world.out(`${text}\n`)),
    note: (text) => world.err(`${printableLines(text)}\n`),
  };
}
