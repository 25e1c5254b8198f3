interface Waiting<T> {
  resolve: (found: T | null) => void;
  reject: (error: unknown) => void;
}

/**
 * Reads entries by id, many with one request. One request runs at a time: the ids that are asked
 * for meanwhile wait for the next one.
 * @param askFor the entries with these ids, in any order
 * @param most ids of one request
 * @returns reads the entry with an id; null: there is none
 */
export function readingById<T extends { id: string }>(
  askFor: (ids: readonly string[]) => Promise<readonly T[]>,
  most: number,
): (id: string) => Promise<T | null> {
  const waiting = new Map<string, Waiting<T>[]>();
  let isAsking = false;
  const askForAll = async () => {
    isAsking = true;
    // One page asks for its ids one after the other, at once.
    await Promise.resolve();
    while (waiting.size > 0) {
      const asked = [...waiting].slice(0, most);
      for (const [id] of asked) waiting.delete(id);
      try {
        const found = await askFor(asked.map(([id]) => id));
        const byId = new Map(found.map((entry) => [entry.id, entry]));
        for (const [id, all] of asked) {
          for (const { resolve } of all) resolve(byId.get(id) ?? null);
        }
      } catch (error) {
        for (const [, all] of asked) {
          for (const { reject } of all) reject(error);
        }
      }
    }
    isAsking = false;
  };
  return (id) =>
    new Promise((resolve, reject) => {
      waiting.set(id, [...(waiting.get(id) ?? []), { resolve, reject }]);
      if (!isAsking) void askForAll();
    });
}
