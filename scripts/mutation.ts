import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from './bench/table.ts';
import { hasRun } from './mutation/coverage.ts';
import { EQUIVALENTS, type Equivalent } from './mutation/equivalents.ts';
import { listMutants, type Mutant } from './mutation/list-mutants.ts';
import { importGraph, testsOf } from './mutation/tests-of.ts';
import { Workshop } from './mutation/workshop.ts';

// Whether the unit tests notice when the code changes: takes a seeded sample of small changes (mutants), and runs the
// unit tests that reach each of them. `npm run mutation -- --sample 160 --seed 1 --only controller/intent`

const root = path.join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '160' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});

/** Unit tests that are asked for a file at most: the nearest ones. */
const MOST_TESTS = 12;
/** A test file that takes longer is asked only if no other one reaches the mutant. In milliseconds. */
const SLOW_MS = 15_000;

const sources = await readSources();
const graph = importGraph(sources);
const isPure = pureRooms();
const inSample = chooseMutants();
const workshops = await Promise.all(Array.from({ length: Number(values.jobs) }, () => Workshop.open()));
try {
  const tests = new Map<string, Awaited<ReturnType<Workshop['runOnce']>>>();
  await each([...new Set(inSample.flatMap(nearestTests))], 'test files run', async (test, workshop) => {
    tests.set(test, await workshop.runOnce(test));
  });
  const failing = [...tests].flatMap(([test, run]) => (run ? [] : [test]));
  if (failing.length > 0)
    console.error(`fail, or take a minute, without any change, and are left out: ${failing.join(', ')}`);
  const reaching = (mutant: Mutant) => {
    const found = nearestTests(mutant).filter((test) =>
      hasRun(tests.get(test)?.coverage.get(mutant.file) ?? [], mutant.start),
    );
    const quick = found.filter((test) => (tests.get(test)?.ms ?? 0) < SLOW_MS);
    return quick.length > 0 ? quick : found;
  };
  const reached = inSample.filter((mutant) => reaching(mutant).length > 0);
  const survivors: Mutant[] = [];
  await each(reached, 'mutants tried', async (mutant, workshop) => {
    const asked = reaching(mutant);
    const ms = asked.reduce((sum, test) => sum + (tests.get(test)?.ms ?? 0), 0);
    if (await workshop.survives(mutant, asked, ms)) survivors.push(mutant);
  });
  report(reached, survivors);
} finally {
  await Promise.all(workshops.map((workshop) => workshop.close()));
}

async function readSources(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for await (const file of glob('{receiver,controller,agent,cli,shared,scripts,tests}/**/*.ts', { cwd: root })) {
    found.set(file, await readFile(path.join(root, file), 'utf8'));
  }
  return found;
}

/** What the import check holds as pure. */
function pureRooms(): (file: string) => boolean {
  interface Rule {
    name: string;
    from: { path: string };
  }
  const { forbidden } = createRequire(import.meta.url)('../.dependency-cruiser.cjs') as { forbidden: Rule[] };
  const rule = forbidden.find(({ name }) => name === 'pure-rooms-are-pure');
  if (!rule) throw new Error('.dependency-cruiser.cjs no longer says which rooms are pure');
  const pattern = new RegExp(rule.from.path);
  return (file) => pattern.test(file);
}

/** Half of them from pure rooms; always the same ones for a seed. */
function chooseMutants(): Mutant[] {
  const isMutated = (file: string) => /^(receiver|controller|agent|cli|shared)\//.test(file) && !isEntry(file);
  const possible = [...sources].flatMap(([file, source]) => (isMutated(file) ? listMutants(file, source) : []));
  const stale = EQUIVALENTS.filter((equivalent) => !possible.some((mutant) => isOf(equivalent, mutant)));
  if (stale.length > 0)
    throw new Error(`not there any more: ${stale.map(({ file, line }) => `${file}: ${line}`).join('; ')}`);
  const all = possible.filter(
    (mutant) => mutant.file.startsWith(values.only) && !EQUIVALENTS.some((equivalent) => isOf(equivalent, mutant)),
  );
  const place = ({ file, start, end, what }: Mutant) =>
    createHash('sha256').update([values.seed, file, start, end, what].join('\0')).digest('hex');
  const ordered = all.map((mutant) => ({ mutant, at: place(mutant) })).sort((a, b) => (a.at < b.at ? -1 : 1));
  const groups = Object.groupBy(ordered, ({ mutant }) => (isPure(mutant.file) ? 'pure' : 'rest'));
  const half = Math.ceil(Number(values.sample) / 2);
  return Object.values(groups).flatMap((group) => group.slice(0, half).map(({ mutant }) => mutant));
}

/** A program's wiring has no unit test. */
function isEntry(file: string): boolean {
  return file.endsWith('/main.ts');
}

function lineOf({ file, start }: Mutant): { number: number; text: string } {
  const before = (sources.get(file) ?? '').slice(0, start).split('\n');
  const number = before.length;
  return { number, text: (sources.get(file) ?? '').split('\n')[number - 1]?.trim() ?? '' };
}

function isOf({ file, what, line }: Equivalent, mutant: Mutant): boolean {
  return file === mutant.file && what === mutant.what && line === lineOf(mutant).text;
}

/** The unit tests of the same name first. */
function nearestTests({ file }: Mutant): string[] {
  const own = `tests/unit/${file.replace(/\.ts$/, '.test.ts')}`;
  const unit = testsOf(file, graph).filter((test) => test.startsWith('tests/unit/'));
  return [...unit.filter((test) => test === own), ...unit.filter((test) => test !== own)].slice(0, MOST_TESTS);
}

/** Goes through a list with all workshops, and says how far it is. */
async function each<T>(items: T[], what: string, work: (item: T, workshop: Workshop) => Promise<void>): Promise<void> {
  const left = [...items];
  await Promise.all(
    workshops.map(async (workshop) => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        await work(item, workshop);
        if (left.length % 25 === 0) console.error(`${what}: ${items.length - left.length} of ${items.length}`);
      }
    }),
  );
}

function report(reached: Mutant[], survivors: Mutant[]): void {
  for (const mutant of survivors.sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const { number, text } = lineOf(mutant);
    console.log(`${mutant.file}:${number}  ${mutant.what}\n    ${text}`);
  }
  const rows = [
    { name: 'pure rooms', aim: 0.9, isIn: isPure },
    { name: 'the rest', aim: 0.8, isIn: (file: string) => !isPure(file) },
  ].map(({ name, aim, isIn }) => {
    const count = (list: Mutant[]) => list.filter(({ file }) => isIn(file)).length;
    const [all, tried, alive] = [count(inSample), count(reached), count(survivors)];
    const score = tried === 0 ? 1 : (tried - alive) / tried;
    if (score < aim) process.exitCode = 1;
    return [name, String(all), String(tried), String(tried - alive), score.toFixed(2), `≥ ${aim}`];
  });
  printTable(['what', 'mutants', 'reached', 'noticed', 'score', 'aim'], rows);
}
