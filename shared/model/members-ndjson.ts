/** A file of members as the API takes it (NDJSON), made as it is read: what is no JSON in it is a user id as it stands. */

/** A line as the API takes it; undefined for one that is blank. */
export function memberLine(line: string): string | undefined {
  const text = line.trim();
  if (text === '') return undefined;
  return isJson(text) ? text : JSON.stringify(text);
}

/** A text in quotes or an object. A number alone is an id: JSON has none that is a text. */
function isJson(text: string): boolean {
  if (!text.startsWith('"') && !text.startsWith('{')) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

export interface MembersNdjson {
  /** so far */
  readonly count: number;
  /** @returns what of it is whole lines, as the API takes them */
  add(text: string): string;
  /** @returns the line that has no break at its end */
  end(): string;
}

export function createMembersNdjson(): MembersNdjson {
  let [count, rest] = [0, ''];
  const made = (lines: string[]) => {
    const found = lines.map(memberLine).filter((line) => line !== undefined);
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
