/** A random UUID. */
export function newId(): string {
  // Pages without TLS have no randomUUID.
  const { randomUUID } = crypto as { randomUUID?: () => string };
  return randomUUID === undefined
    ? uuidOf(crypto.getRandomValues(new Uint8Array(16)))
    : crypto.randomUUID();
}

/** @internal */
export function uuidOf(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte, i) => {
    const marked = i === 6 ? (byte & 0x0f) | 0x40 : i === 8 ? (byte & 0x3f) | 0x80 : byte;
    return marked.toString(16).padStart(2, '0');
  }).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
