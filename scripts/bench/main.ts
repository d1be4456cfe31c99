import { existsSync } from 'node:fs';
import path from 'node:path';

/** Benchmarks by name, each in its own file, which exports `run`. */
const benchmarks = ['receiver', 'controller', 'admission', 'agent', 'path', 'pod-start', 'rollout', 'scale'];
const usage = `usage: npm run bench -- NAME [options]   (${benchmarks.join(', ')})`;

const [name = '', ...options] = process.argv.slice(2);
const file = path.join(import.meta.dirname, `${name}.ts`);
if (!benchmarks.includes(name) || !existsSync(file)) {
  console.error(usage);
  process.exit(2);
}
try {
  const { run } = (await import(file)) as { run: (options: string[]) => Promise<void> };
  await run(options);
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
