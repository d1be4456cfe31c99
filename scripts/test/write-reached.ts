import { writeFileSync } from 'node:fs';

// Writes the IDs of Stryker's changes that a process has reached to the file in REACHED when the process ends.

const { REACHED: file } = process.env;
interface Stryker {
  mutantCoverage?: { static: Record<string, number> };
}

process.on('exit', () => {
  const { __stryker__: stryker } = globalThis as { __stryker__?: Stryker };
  if (file) writeFileSync(file, JSON.stringify(Object.keys(stryker?.mutantCoverage?.static ?? {})));
});
