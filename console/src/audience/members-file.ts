import { createMembersNdjson } from '../../../shared/model/members-ndjson';

const CHUNK = 1 << 20;

/**
 * Converts a file of members to the API's format, in blobs that the browser can keep on disk.
 * @returns the body and its number of lines
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
