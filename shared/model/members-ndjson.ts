/**
 * Converts a file of members to the API's format (NDJSON) while it is read. A line that is not JSON
 * is a user id, unless the file is CSV: its first line then names the column of the user ids.
 */

/** A file that would be read wrongly. Its message is a sentence for the user. */
export class MembersFileError extends Error {
  override name = 'MembersFileError';
}

/**
 * Returns a line in the API's format; undefined if it is blank. The API refuses a broken object,
 * with the number of its line.
 */
export function memberLine(line: string): string | undefined {
  const text = line.trim();
  if (text === '') return undefined;
  return text.startsWith('{') || isQuoted(text) ? text : JSON.stringify(text);
}

/** Returns whether the line is a quoted text. A bare number is a user id. */
function isQuoted(text: string): boolean {
  if (!text.startsWith('"')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Where a CSV file has the user ids. */
interface CsvColumn {
  separator: string;
  index: number;
}

const SEPARATORS = [',', ';', '\t'];
/** Names of the column of the user ids, in lower case without spaces, `_` and `-`. */
const NAMES: ReadonlySet<string> = new Set(['userid', 'externalid', 'uid']);
/** A header of one column with this name would be a likely user id. */
const NAMES_OF_SEVERAL: ReadonlySet<string> = new Set([...NAMES, 'id', 'user']);

/**
 * Reads the first line of a file.
 * @returns the column if the line is the header of a CSV file; undefined if it is a member
 * @throws MembersFileError if the line has several columns and none is known
 */
export function csvColumnOf(firstLine: string): CsvColumn | undefined {
  const text = firstLine.trim();
  if (text.startsWith('{') || isQuoted(text)) return undefined;
  if (NAMES.has(nameOf(text))) return { separator: ',', index: 0 };
  for (const separator of SEPARATORS) {
    if (!text.includes(separator)) continue;
    const index = cellsOf(text, separator).findIndex((cell) => NAMES_OF_SEVERAL.has(nameOf(cell)));
    if (index >= 0) return { separator, index };
    throw new MembersFileError(
      'The first line has several columns. If the file is CSV, its first line must name ' +
        'the column of the user ids: user_id. Put a user id that contains ' +
        `"${separator === '\t' ? 'a tab' : separator}" in double quotes.`,
    );
  }
  return undefined;
}

function nameOf(cell: string): string {
  return cell
    .toLowerCase()
    .replace(/[\s_"-]/g, '')
    .replace('\ufeff', '');
}

/** Splits a line of CSV (RFC 4180). A quoted cell may contain separators and doubled quotes. */
export function cellsOf(line: string, separator: string): string[] {
  const cells: string[] = [];
  let [cell, quoted] = ['', false];
  for (let i = 0; i < line.length; i++) {
    const character = line[i] ?? '';
    if (character === '"' && quoted && line[i + 1] === '"') cell += line[i++] ?? '';
    else if (character === '"') quoted = !quoted;
    else if (character === separator && !quoted) {
      cells.push(cell);
      cell = '';
    } else cell += character;
  }
  return [...cells, cell].map((each) => each.trim());
}

export interface MembersNdjson {
  /** so far */
  readonly count: number;
  /** @returns the whole lines so far, in the API's format. @throws MembersFileError */
  add(text: string): string;
  /** @returns the last line, if it does not end with a line break. @throws MembersFileError */
  end(): string;
}

export function createMembersNdjson(): MembersNdjson {
  let [count, rest] = [0, ''];
  /** null: no line has been read yet */
  let csv: CsvColumn | undefined | null = null;
  const convert = (line: string): string | undefined => {
    if (line.trim() === '') return undefined;
    if (csv === null) {
      csv = csvColumnOf(line);
      if (csv) return undefined;
    }
    if (!csv) return memberLine(line);
    const id = cellsOf(line, csv.separator)[csv.index] ?? '';
    return id === '' ? undefined : JSON.stringify(id);
  };
  const made = (lines: string[]) => {
    const found = lines.map(convert).filter((line) => line !== undefined);
    count += found.length;
    return found.map((line) => `${line}\n`).join('');
  };
  return {
    get count() {
      return count;
    },
    add: (text) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      return made(lines);
    },
    end: () => {
      const line = rest;
      rest = '';
      return made([line]);
    },
  };
}
