/** Does several pieces of work in parallel, a limited number at a time. */
export async function inParallel(
  count: number,
  lanes: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
