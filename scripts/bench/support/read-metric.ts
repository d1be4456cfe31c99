/**
 * Adds up the series of a metric whose labels match; NaN if the program is unavailable. Throws if it has no such metric,
 * so that a metric with a new name isn't taken for zero.
 */
export async function readMetric(port: string, name: string, labels = /(?:)/): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => undefined);
  if (!response) return Number.NaN;
  const lines = (await response.text()).split('\n');
  const type = `# TYPE ${name.replace(/_count$/, '')} `;
  if (!lines.some((line) => line.startsWith(type))) throw new Error(`the program has no metric ${name}`);
  const series = lines.filter((line) => line.split(/[{ ]/)[0] === name && labels.test(line));
  return series.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
