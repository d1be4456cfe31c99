import path from 'node:path';

/** Benchmarks by name. Each has a file of that name, which exports `run`. */
const benchmarks = ['controller', 'path', 'receiver'];

const args = process.argv.slice(2);
const firstOption = args.findIndex((arg) => arg.startsWith('-'));
const names = firstOption === -1 ? args : args.slice(0, firstOption);
const options = args.slice(names.length);

if (names.length === 0 || !names.every((name) => benchmarks.includes(name))) {
  console.error(`usage: npm run bench -- NAME [NAME …] [options]   (${benchmarks.join(', ')})`);
  process.exit(2);
}
try {
  for (const name of names) {
    const { run } = (await import(path.join(import.meta.dirname, `${name}.ts`))) as {
      run: (options: string[]) => Promise<void>;
    };
    await run(options);
  }
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
