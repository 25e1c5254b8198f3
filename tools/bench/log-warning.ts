/** Returns the warning in a line of a service's log, or undefined for any other line. Pure. */
export function warningOf(line: string): string | undefined {
  if (!/"level":"(warn|error|fatal)"/.test(line)) return undefined;
  const field = (name: string) => new RegExp(`"${name}":"([^"]*)"`).exec(line)?.[1];
  const [service = '?', event = '?', reason] = [field('service'), field('msg'), field('reason')];
  return `${service} ${event}${reason === undefined ? '' : ` (${reason})`}`;
}
