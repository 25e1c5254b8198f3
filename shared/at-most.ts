/**
 * Waits for the work, but no longer than so many ms; it runs on then.
 * @throws what the work fails with while it is waited for
 */
export async function atMost(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  try {
    await Promise.race([work, enough]);
  } finally {
    clearTimeout(timer);
  }
}
