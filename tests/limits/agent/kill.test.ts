import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseManifest } from '../../../agent/volume/manifest/parse-manifest.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';
import { bundle } from '../../integration/agent/support/bundle.ts';
import { byDepth, random } from '../../support/depth.ts';
import { gitServerFor } from '../../support/git-server-for.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Mapping of each lane: the whole repository, or a directory, in which case the clone is a partial one. */
const MAPPINGS = [
  { source: '.', publish: 'files' },
  { source: 'tree', publish: 'files' },
  { source: 'tree', publish: 'atomic' },
] as const;
const LANES = MAPPINGS.length;
/** How long each lane runs; longer if it has not killed often enough by then. */
const TIME_MS = byDepth(10_000, 40_000, 600_000);
const RUNS_IN_A_ROUND = 5;
const KILLS_AT_LEAST = 2 * RUNS_IN_A_ROUND;
/** A lane that has not killed often enough after this many runs fails. */
const MAX_RUNS = 120;

type Files = Record<string, string>;

/** Files turn into directories and back, appear, disappear, and change from one commit to the next. */
function tree(n: number): Files {
  const names = Array.from({ length: 60 }, (_, i) => {
    if (i % 4 === n % 4) return `f${i}`;
    return i % 3 === 0 ? `f${i}/${n % 5}` : `d${i % 7}/f${i}`;
  });
  return Object.fromEntries(names.map((name, i) => [name, `${i} ${i % 2 ? n : 0}`]));
}

/** The files at the lane's source; next to a directory, some are unmapped and omitted from fetches. */
function committed(files: Files, source: (typeof MAPPINGS)[number]['source'], n: number): Files {
  if (source === '.') return files;
  const moved = Object.entries(files).map(([name, text]) => [`${source}/${name}`, text]);
  return { ...Object.fromEntries(moved), 'other/n': `${n}`, 'other/large': `${n}`.repeat(100_000) };
}

async function readFiles(directory: string): Promise<Files> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(
      files.sort().map(async (file) => [path.relative(directory, file), await readFile(file, 'utf8')] as const),
    ),
  );
}

/** The same without the tree that `config` links to, because its files are listed there as well. */
async function visibleFiles(data: string): Promise<Files> {
  const tree = await readlink(path.join(data, 'config')).catch(() => undefined);
  const files = Object.entries(await readFiles(data));
  return Object.fromEntries(files.filter(([name]) => tree === undefined || !name.startsWith(`${tree}/`)));
}

/** Removes the files in `taken-over` from the list, and returns their contents. */
function takenOver(files: Files): string[] {
  const names = Object.keys(files).filter((name) => name.startsWith('.sync-agent/taken-over/'));
  const texts = names.map((name) => files[name] ?? '');
  for (const name of names) delete files[name];
  return texts.sort();
}

/** Writes a file into a tree as the gateway can, and returns its content. */
async function writeIntoTree(directory: string, round: number): Promise<string> {
  const text = `written in round ${`${round}`.padStart(6, '0')}`;
  await chmod(directory, 0o755);
  await writeFile(path.join(directory, 'written'), text);
  return text;
}

/** Runs one sync, and kills it after some time if it has not ended by then; `ms` counts from its beginning. */
async function run(program: string, order: object, killAfterMs?: number): Promise<{ killed: boolean; ms: number }> {
  const child = spawn(process.execPath, [program, JSON.stringify(order)], { stdio: ['ignore', 'pipe', 'pipe'] });
  let complaint = '';
  child.stderr.on('data', (chunk) => {
    complaint += chunk;
  });
  const closed = once(child, 'exit') as Promise<[number | null, string | null]>;
  await Promise.race([once(child.stdout, 'data'), closed]);
  const started = performance.now();
  if (killAfterMs !== undefined) {
    await sleep(killAfterMs);
    child.kill('SIGKILL');
  }
  const [code, signal] = await closed;
  if (signal !== 'SIGKILL') assert.equal(code, 0, complaint);
  return { killed: signal === 'SIGKILL', ms: performance.now() - started };
}

suite('an agent that is killed at any moment', { concurrency: LANES }, () => {
  let programs: TemporaryDirectory;
  let program: string;
  before(async () => {
    programs = await makeTemporaryDirectory('kill-program-');
    program = await bundle('sync-once', programs.path);
  });
  after(() => programs.remove());

  for (const [lane, { source, publish }] of MAPPINGS.entries()) {
    test(`delivers exactly the wanted tree of ${source} (publish: ${publish})`, {
      timeout: TIME_MS + 300_000,
    }, async (t) => {
      const directory = await temporaryDirectory(t, 'kill-');
      const server = await gitServerFor(t);
      const repository = await server.createRepository('killed');
      const data = path.join(directory, 'data');
      await mkdir(data);
      const own: Files = { 'own.db': 'of the gateway', 'config/own': 'of the gateway, too' };
      // A directory with such a file is never replaced.
      if (publish === 'atomic') delete own['config/own'];
      else await mkdir(path.join(data, 'config'));
      for (const [name, text] of Object.entries(own)) await writeFile(path.join(data, name), text);
      const written: string[] = [];
      let kills = 0;
      let before = {} as Files;
      let longestMs = 150;
      const deadline = performance.now() + TIME_MS;
      const isOver = (runs: number) =>
        runs % RUNS_IN_A_ROUND === 0 && performance.now() > deadline && (kills >= KILLS_AT_LEAST || runs >= MAX_RUNS);
      for (let n = 0; !isOver(n); n += 1) {
        const files = tree(n * LANES + lane);
        // Requested separately if the clone is a partial one.
        files.large = `${n}`.padEnd(100_000, `${random()}`);
        const inRepository = committed(files, source, n);
        const gone = Object.fromEntries(Object.keys(before).map((name) => [name, null]));
        const commit = await repository.commit({ files: { ...gone, ...inRepository } });
        before = inRepository;
        const order = { repo: repository.url, commit, source, publish, data, clone: path.join(directory, 'repo') };
        if ((await run(program, order, random() * longestMs)).killed) kills += 1;
        if (n % RUNS_IN_A_ROUND !== RUNS_IN_A_ROUND - 1) continue;
        longestMs = (await run(program, order)).ms * 1.2;
        const { '.sync-agent/manifest.jsonl': manifest, ...left } = await visibleFiles(data);
        for (const name of ['agent.lock', 'owner.json']) delete left[`.sync-agent/${name}`];
        assert.deepEqual(takenOver(left), written, `round ${n}`);
        const wanted = Object.entries(files).map(([name, text]) => [`config/${name}`, text]);
        assert.deepEqual(left, { ...Object.fromEntries(wanted), ...own }, `round ${n}`);
        const parsed = await parseManifest([Buffer.from(manifest ?? '')]);
        assert.equal(parsed.kind === 'manifest' && parsed.manifest.applied?.commit, commit);
        if (publish === 'atomic') written.push(await writeIntoTree(path.join(data, 'config'), n));
      }
      t.diagnostic(`killed ${kills} times`);
      assert.ok(kills >= KILLS_AT_LEAST, `killed only ${kills} times`);
    });
  }
});
