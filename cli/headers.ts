import { usage } from './process-context';

/**
 * Parses one header line.
 * @returns undefined for any other text
 */
export function parseHeader(line: string): { name: string; value: string } | undefined {
  const [, name, value] = /^([^\s:]+):[ \t]*(.*?)[ \t]*$/.exec(line) ?? [];
  return name === undefined || value === undefined ? undefined : { name, value };
}

/**
 * Parses `Name: value` lines, and skips empty lines and lines that begin with #.
 * @throws CliError, which repeats no value
 */
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
