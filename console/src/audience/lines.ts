/** Lines of a file of members. What is no JSON is taken for a user id as it stands. Pure, but for the reading of the file. */

const CHUNK = 1 << 20;

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

/**
 * The file with each line as the API takes it, in parts that the browser keeps where it likes.
 * @returns also how many lines there are
 */
export async function membersOf(file: Blob): Promise<{ body: Blob; lines: number }> {
  const parts: Blob[] = [];
  let [lines, rest, made] = [0, '', ''];
  const take = (line: string) => {
    const member = memberLine(line);
    if (member === undefined) return;
    lines++;
    made += `${member}\n`;
  };
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const found = (rest + read.value).split('\n');
    rest = found.pop() ?? '';
    found.forEach(take);
    if (made.length < CHUNK) continue;
    parts.push(new Blob([made]));
    made = '';
  }
  take(rest);
  return { body: new Blob([...parts, made]), lines };
}
