import { usage } from './world';

/** `Name: value`, one a line; empty lines and lines that begin with # are left out. @throws CliError, which repeats no value */
export function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const [, name, value] = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
    if (name === undefined || value === undefined)
      throw usage(`Line ${String(i + 1)} of the headers is not "Name: value".`);
    headers[name] = value;
  }
  return headers;
}
