/** Runs the function for every item, at most `limit` at once. After an error, starts no more and waits for the rest. */
export async function forEachLimited<T>(
  items: Iterable<T>,
  limit: number,
  run: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  let failed = false;
  const work = async () => {
    for (let next = iterator.next(); !next.done && !failed; next = iterator.next()) {
      try {
        await run(next.value);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const results = await Promise.allSettled(Array.from({ length: limit }, work));
  const failure = results.find((result) => result.status === 'rejected');
  if (failure) throw failure.reason;
}
