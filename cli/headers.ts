import { usage } from './process-context';

/** One line of a head. @returns undefined where it is none */
export function parseHeader(line: string): { name: string; value: string } | undefined {
  const [, name, value] = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  return name === undefined || value === undefined ? undefined : { name, value };
}

/** `Name: value`, one a line; empty lines and lines that begin with # are left out. @throws CliError, which repeats no value */
export function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    if (line.trim() === '' || line.startsWith('#')) continue;
    const header = parseHeader(line);
    if (!header) throw usage(`Line ${String(i + 1)} of the headers is not "Name: value".`);
    headers[header.name] = header.value;
  }
  return headers;
}
