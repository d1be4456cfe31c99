/** Does a piece of work under one line on stderr: what it is, then how long it took. */
export async function step<T>(what: string, work: () => Promise<T>): Promise<T> {
  const started = performance.now();
  process.stderr.write(`${what} … `);
  try {
    const result = await work();
    process.stderr.write(`${seconds(started)} s\n`);
    return result;
  } catch (error) {
    process.stderr.write(`failed after ${seconds(started)} s\n`);
    throw error;
  }
}

function seconds(started: number): string {
  return ((performance.now() - started) / 1000).toFixed(1);
}
