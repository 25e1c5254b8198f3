/** Runs one request for each selected delivery. */

export interface BulkResult {
  done: number;
  /** id → reason */
  failed: ReadonlyMap<string, string>;
}

/** Requests at a time: one browser must not crowd out the other users of control. */
const AT_A_TIME = 4;

/** @param reasonOf a sentence for an error of `act`; one failure does not stop the others */
export async function inBulk(
  ids: readonly string[],
  act: (id: string) => Promise<unknown>,
  reasonOf: (error: unknown) => string,
): Promise<BulkResult> {
  const failed = new Map<string, string>();
  const open = [...ids];
  const worker = async () => {
    for (let id = open.shift(); id !== undefined; id = open.shift()) {
      try {
        await act(id);
      } catch (error) {
        failed.set(id, reasonOf(error));
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_A_TIME, ids.length) }, worker));
  return { done: ids.length - failed.size, failed };
}
