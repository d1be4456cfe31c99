import { run as controller } from './controller.ts';
import { run as path } from './path.ts';
import { run as receiver } from './receiver.ts';

const benchmarks = new Map(Object.entries({ controller, path, receiver }));

const args = process.argv.slice(2);
const firstOption = args.findIndex((arg) => arg.startsWith('-'));
const names = firstOption === -1 ? args : args.slice(0, firstOption);
const options = args.slice(names.length);

if (names.length === 0 || !names.every((name) => benchmarks.has(name))) {
  console.error(`usage: npm run bench -- NAME [NAME …] [options]   (${[...benchmarks.keys()].join(', ')})`);
  process.exit(2);
}
try {
  for (const name of names) await benchmarks.get(name)?.(options);
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
