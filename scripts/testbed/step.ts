/** Work that takes longer than this is announced (ms). */
const ANNOUNCE_AFTER_MS = 1_000;

/**
 * Does some work, and logs its name and duration on stderr. Writes whole lines, because other processes can write
 * at the same time.
 */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  const say = (outcome: string) => process.stderr.write(`${what}${outcome}\n`);
  const announcement = setTimeout(() => say(' …'), ANNOUNCE_AFTER_MS);
  try {
    const result = await work();
    say(`: ${seconds(started)} s`);
    return result;
  } catch (error) {
    say(`: failed after ${seconds(started)} s`);
    throw error;
  } finally {
    clearTimeout(announcement);
  }
}

function seconds(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1);
}
