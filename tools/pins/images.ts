/** Finds and replaces the pinned container images in the text of a file. */

/** An image that is pinned by its digest. */
export interface PinnedImage {
  /** name and tag: `node:24-slim` */
  tag: string;
  digest: string;
}

const PINNED = /(?<tag>[a-z0-9][\w./-]*:[\w.-]+)@(?<digest>sha256:[0-9a-f]{64})/g;
/** A comment above an image that says where its digest comes from. */
const ORIGIN = /^(?<start>\s*# pin: ).*$/;
/** A comment above an image whose digest nobody has resolved yet. No release is made with one. */
const UNRESOLVED = /^\s*# pin: none yet/;
const UNPINNED = /(?<tag>[a-z0-9][\w./-]*:[\w.-]+)\s*$/;

/** Returns the pinned images of a text, in order. */
export function pinnedImages(text: string): PinnedImage[] {
  return [...text.matchAll(PINNED)].map(({ groups }) => ({
    tag: groups?.tag ?? '',
    digest: groups?.digest ?? '',
  }));
}

/** Returns the tags of a text that wait for their digest: those below `# pin: none yet`. */
export function unresolvedTags(text: string): string[] {
  return text.split('\n').flatMap((line, i, lines) => {
    return UNRESOLVED.test(lines[i - 1] ?? '') ? (UNPINNED.exec(line)?.groups?.tag ?? []) : [];
  });
}

/** A comment above an image whose digest this tool has resolved from its registry. */
const RESOLVED = /^\s*# pin: resolved on \d{4}-\d{2}-\d{2}$/;

/**
 * Returns the images of a text whose digest has another origin, such as somebody's repository: it
 * may name an older image, or another one, and it wins over the tag. No release is made with one.
 */
export function foreignPins(text: string): PinnedImage[] {
  return text
    .split('\n')
    .flatMap((line, i, lines) => (RESOLVED.test(lines[i - 1] ?? '') ? [] : pinnedImages(line)));
}

/**
 * Returns the text with other digests, and with their origin in the comments above them.
 * @param digests by tag; images that are not in it stay
 */
export function repin(text: string, digests: ReadonlyMap<string, string>, origin: string): string {
  const lines = text.split('\n');
  const unresolved = new Set(unresolvedTags(text));
  for (const [i, given] of lines.entries()) {
    const line = given.replace(UNPINNED, (found, tag: string) => {
      const digest = unresolved.has(tag) ? digests.get(tag) : undefined;
      return digest === undefined ? found : `${tag}@${digest}`;
    });
    const known = pinnedImages(line).filter(({ tag }) => digests.has(tag));
    if (known.length === 0) continue;
    lines[i] = line.replace(PINNED, (pinned, tag: string) => {
      const digest = digests.get(tag);
      return digest === undefined ? pinned : `${tag}@${digest}`;
    });
    const above = lines[i - 1];
    if (above !== undefined) lines[i - 1] = above.replace(ORIGIN, `$<start>${origin}`);
  }
  return lines.join('\n');
}

/** Platforms of the released image. */
const PLATFORMS = ['linux/amd64', 'linux/arm64'];

/** Returns the platforms that a manifest lacks. A manifest of one platform lists none. */
export function missingPlatforms(manifest: unknown): string[] {
  const listed = isRecord(manifest) && Array.isArray(manifest.manifests) ? manifest.manifests : [];
  const there = new Set(
    listed.map((entry: unknown) => {
      const platform = isRecord(entry) && isRecord(entry.platform) ? entry.platform : {};
      return `${String(platform.os)}/${String(platform.architecture)}`;
    }),
  );
  return PLATFORMS.filter((platform) => !there.has(platform));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
