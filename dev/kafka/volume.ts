/** Tells whether a folder outlives the container in which this process runs. */

/**
 * Returns a warning if a folder is in the container itself, and not on a volume.
 * @param mounts the text of /proc/self/mountinfo
 */
export function volumeWarning(dir: string, mounts: string): string | undefined {
  const points = mounts.split('\n').map((line) => unescape(line.split(' ')[4] ?? ''));
  if (points.some((point) => point !== '' && point !== '/' && `${dir}/`.startsWith(`${point}/`))) {
    return undefined;
  }
  return (
    `No volume is mounted at ${dir}: keys, settings and messages are lost with this ` +
    `container. Start it with -v waypost:${dir}`
  );
}

/** A space in a path is written as \\040. */
function unescape(path: string): string {
  return path.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));
}
