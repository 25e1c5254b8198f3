/** Converts a file of members to the API's format (NDJSON) while it is read. A line that is not JSON is a user id. */

/** Returns a line in the API's format; undefined if it is blank. */
export function memberLine(line: string): string | undefined {
  const text = line.trim();
  if (text === '') return undefined;
  return isJson(text) ? text : JSON.stringify(text);
}

/** Returns whether the line is a quoted text or an object. A bare number is a user id. */
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
  /** @returns the whole lines so far, in the API's format */
  add(text: string): string;
  /** @returns the last line, if it does not end with a line break */
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
