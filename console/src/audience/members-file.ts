import { createMembersNdjson, MembersFileError } from '../../../shared/model/members-ndjson';

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

/** The beginning of a file, as it would be read. */
export interface Glance {
  /** the first members, in the API's format */
  lines: string[];
  /** why the file would be refused */
  problem: string | undefined;
}

const GLANCE_BYTES = 64 * 1024;
const GLANCE_LINES = 5;

/** Reads the beginning of a file, so that the user sees what its lines mean before they count. */
export async function glanceAt(file: Blob): Promise<Glance> {
  const text = await file.slice(0, GLANCE_BYTES).text();
  const lines = createMembersNdjson();
  try {
    // The last line may be cut.
    const made = lines.add(text) + (file.size <= GLANCE_BYTES ? lines.end() : '');
    return {
      lines: made
        .split('\n')
        .slice(0, GLANCE_LINES)
        .filter((line) => line !== ''),
      problem: undefined,
    };
  } catch (error) {
    if (error instanceof MembersFileError) return { lines: [], problem: error.message };
    throw error;
  }
}
