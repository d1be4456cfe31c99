import { chmodSync, lstatSync, readdirSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { ATOMIC } from './race-tree.ts';

/** Given as JSON in the first argument. */
interface Order {
  data: string;
  /** A directory that isn't in the volume. */
  outside: string;
}

const { data, outside } = JSON.parse(process.argv[2] ?? '') as Order;

/** Directories of the agent, and of the volume, that are replaced. */
const FIXED = [
  'at',
  ATOMIC,
  ...['', '/trees', '/building', '/staging', '/saved', '/taken-over'].map((name) => `.sync-agent${name}`),
];
/** Longest time for which an entry is replaced (ms). */
const LONGEST_MS = 3;
/** Longest time between two of these (ms), in which the agent can finish its work. */
const LONGEST_PAUSE_MS = 15;

let swaps = 0;

/** Ignores errors, because the agent changes the volume at the same time. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}

const choose = <T>(all: readonly T[]): T | undefined => all[Math.floor(Math.random() * all.length)];

const kindOf = (path: string) => attempt(() => lstatSync(path));

/** Chooses a directory of the agent, or something in a tree, at any depth. */
function chooseTarget(): string {
  const kind = Math.random();
  if (kind < 0.4) return choose(FIXED) ?? ATOMIC;
  let path = `.sync-agent/${choose(['trees', 'building', 'staging'])}`;
  for (let depth = 0; depth < 3; depth += 1) {
    const name = choose(attempt(() => readdirSync(join(data, path))) ?? []);
    if (name === undefined) break;
    path = `${path}/${name}`;
    if (!kindOf(join(data, path))?.isDirectory() || Math.random() < 0.4) break;
  }
  return path;
}

/** Replaces an entry by a link out of the volume for a short time. */
function swap(): void {
  const target = join(data, chooseTarget());
  const stats = kindOf(target);
  if (!stats) return;
  if (stats.isDirectory()) attempt(() => chmodSync(target, 0o755));
  const hidden = join(data, `hidden-${swaps}`);
  const away = stats.isFile() ? join(outside, 'canary') : outside;
  const isSwapped = attempt(() => {
    renameSync(target, hidden);
    symlinkSync(away, target);
    return true;
  });
  const until = performance.now() + Math.random() * LONGEST_MS;
  while (performance.now() < until);
  if (kindOf(target)?.isSymbolicLink()) attempt(() => unlinkSync(target));
  if (!kindOf(target)) attempt(() => renameSync(hidden, target));
  if (isSwapped) swaps += 1;
}

let isOver = false;
process.stdin
  .on('end', () => {
    isOver = true;
  })
  .resume();

function loop(): void {
  if (isOver) {
    process.stdout.write(`${swaps}\n`);
    return;
  }
  swap();
  setTimeout(loop, Math.random() * LONGEST_PAUSE_MS);
}
loop();
