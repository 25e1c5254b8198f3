import { createMembersNdjson } from '../../../shared/model/members-ndjson';

const CHUNK = 1 << 20;

/**
 * A file of members as the API takes it, in parts that the browser keeps where it likes.
 * @returns also how many lines there are
 */
export async function membersOf(file: Blob): Promise<{ body: Blob; lines: number }> {
  const parts: Blob[] = [];
  const lines = createMembersNdjson();
  let made = '';
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    made += lines.add(read.value);
    if (made.length < CHUNK) continue;
    parts.push(new Blob([made]));
    made = '';
  }
  return { body: new Blob([...parts, made, lines.end()]), lines: lines.count };
}
