import { createHash } from 'node:crypto';
import { glob, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { printTable } from './bench/table.ts';
import { hasRun } from './mutation/coverage.ts';
import { EQUIVALENTS, type Equivalent } from './mutation/equivalents.ts';
import { importersOf, importGraph } from './mutation/import-graph.ts';
import { knownRun } from './mutation/known-runs.ts';
import { listMutants, type Mutant } from './mutation/list-mutants.ts';
import { GENERATOR, type TestRun, type Verdict, Workshop } from './mutation/workshop.ts';

// Whether the unit tests notice when the code changes: takes a seeded sample of small changes (mutants), and runs the
// unit tests that reach each of them. `npm run mutation -- --sample 160 --seed 1 --only controller/intent`

const root = path.join(import.meta.dirname, '..');
const { values } = parseArgs({
  options: {
    sample: { type: 'string', default: '160' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    rooms: { type: 'string', default: 'pure,rest' },
    jobs: { type: 'string', default: String(availableParallelism()) },
  },
});
const rooms = values.rooms.split(',');

/** Test files that are asked for a mutant at most, of those that reach it: the nearest ones. */
const MOST_TESTS = 12;
/** Test files that are run at most to learn whether they reach a file. */
const MOST_RUNS = 30;
/** A test file that takes longer is asked only if no other one reaches the mutant. In milliseconds. */
const SLOW_MS = 15_000;

interface Tried {
  mutant: Mutant;
  verdict: Verdict;
}

const sources = await readSources();
const graph = importGraph(sources);
const isPure = pureRooms();
const inSample = chooseMutants();
const workshops = await Promise.all(Array.from({ length: Number(values.jobs) }, () => Workshop.open()));
try {
  const runs = new Map<string, TestRun | undefined>();
  await each([...new Set(inSample.flatMap(nearestTests))], 'test files run', async (test, workshop) => {
    runs.set(test, await knownRun(test, { sources, graph, workshop }));
  });
  const failing = [...runs].flatMap(([test, run]) => (run ? [] : [test]));
  if (failing.length > 0)
    console.error(`fail, or take a minute, without any change, and are left out: ${failing.join(', ')}`);
  const msOf = (test: string) => runs.get(test)?.ms ?? 0;
  const reaching = (mutant: Mutant) => {
    const found = nearestTests(mutant).filter((test) =>
      hasRun(runs.get(test)?.coverage.get(mutant.file) ?? [], mutant.start),
    );
    const quick = found.filter((test) => msOf(test) < SLOW_MS);
    const asked = quick.length > 0 ? quick : found;
    return asked.filter((test, index) => index < MOST_TESTS || test === GENERATOR);
  };
  const reached = inSample.filter((mutant) => reaching(mutant).length > 0);
  const tried: Tried[] = [];
  await each(reached, 'mutants tried', async (mutant, workshop) => {
    const asked = reaching(mutant);
    const ms = asked.reduce((sum, test) => sum + msOf(test), 0);
    tried.push({ mutant, verdict: await workshop.try(mutant, asked, ms) });
  });
  report(tried);
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

/** Half of them from pure rooms; always the same ones for a seed and the same source. */
function chooseMutants(): Mutant[] {
  const isMutated = (file: string) => /^(receiver|controller|agent|cli|shared)\//.test(file) && !isEntry(file);
  const possible = [...sources].flatMap(([file, source]) => (isMutated(file) ? listMutants(file, source) : []));
  const stale = EQUIVALENTS.filter((equivalent) => !possible.some((mutant) => isOf(equivalent, mutant)));
  if (stale.length > 0)
    throw new Error(`not there any more: ${stale.map(({ file, line }) => `${file}: ${line}`).join('; ')}`);
  const all = possible.filter(
    (mutant) => mutant.file.startsWith(values.only) && !EQUIVALENTS.some((equivalent) => isOf(equivalent, mutant)),
  );
  const place = inOrder(all);
  const ordered = all.map((mutant) => ({ mutant, at: place(mutant) })).sort((a, b) => (a.at < b.at ? -1 : 1));
  const groups = Object.groupBy(ordered, ({ mutant }) => (isPure(mutant.file) ? 'pure' : 'rest'));
  const share = Math.ceil(Number(values.sample) / rooms.length);
  return Object.entries(groups).flatMap(([group, found]) =>
    rooms.includes(group) ? found.slice(0, share).map(({ mutant }) => mutant) : [],
  );
}

/** Where a mutant comes for a seed: by its line and what it changes there, so that other lines of the file can change. */
function inOrder(all: Mutant[]): (mutant: Mutant) => string {
  const seen = new Map<string, number>();
  const names = new Map<Mutant, string>();
  for (const mutant of all) {
    const name = [values.seed, mutant.file, lineOf(mutant).text, mutant.what].join('\0');
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    names.set(mutant, `${name}\0${count}`);
  }
  return (mutant) =>
    createHash('sha256')
      .update(names.get(mutant) ?? '')
      .digest('hex');
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

/** The unit tests of the same name first; the check of the generated files last. */
function nearestTests({ file }: Mutant): string[] {
  const own = `tests/unit/${file.replace(/\.ts$/, '.test.ts')}`;
  const importers = importersOf(file, graph);
  const unit = importers.filter((each) => each.startsWith('tests/unit/') && each.endsWith('.test.ts'));
  const nearest = [...unit.filter((test) => test === own), ...unit.filter((test) => test !== own)].slice(0, MOST_RUNS);
  return importers.includes(GENERATOR) ? [...nearest, GENERATOR] : nearest;
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

function report(tried: Tried[]): void {
  const alive = tried.flatMap(({ mutant, verdict }) => (verdict === 'survived' ? [mutant] : []));
  for (const mutant of alive.sort((a, b) => (a.file < b.file ? -1 : 1))) {
    const { number, text } = lineOf(mutant);
    console.log(`${mutant.file}:${number}  ${mutant.what}\n    ${text}`);
  }
  const rows = [
    { name: 'pure rooms', room: 'pure', aim: 0.9, isIn: isPure },
    { name: 'the rest', room: 'rest', aim: 0.8, isIn: (file: string) => !isPure(file) },
  ]
    .filter(({ room }) => rooms.includes(room))
    .map(({ name, aim, isIn }) => {
      const count = (verdict: Verdict) =>
        tried.filter((each) => isIn(each.mutant.file) && each.verdict === verdict).length;
      const [all, survived, endless] = [
        inSample.filter(({ file }) => isIn(file)).length,
        count('survived'),
        count('no end'),
      ];
      const noticed = count('noticed') + endless;
      const score = noticed + survived === 0 ? 1 : noticed / (noticed + survived);
      if (score < aim) process.exitCode = 1;
      return [name, all, noticed + survived, noticed, endless, score.toFixed(2), `≥ ${aim}`];
    });
  printTable(['what', 'mutants', 'reached', 'noticed', 'of these by no end', 'score', 'aim'], rows);
}
