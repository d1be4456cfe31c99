/** Returns the CPU time of this thread so far, in milliseconds, which other processes don't affect. */
export function processorMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
