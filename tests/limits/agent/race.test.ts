import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseManifest } from '../../../agent/volume/manifest/parse-manifest.ts';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';
import { bundle } from '../../integration/agent/support/bundle.ts';
import {
  ATOMIC,
  atomicTreeOf,
  commitOf,
  commitsOf,
  readTree,
  treeOf,
} from '../../integration/agent/support/race-tree.ts';
import { byDepth, random } from '../../support/depth.ts';
import { RaceAgent } from './race-agent.ts';

/** Agents on one volume, in each lane. */
const LANES = [
  { count: 2, isAtomic: false },
  { count: 3, isAtomic: false },
  { count: 10, isAtomic: false },
  { count: 3, isAtomic: true },
];
/** Rounds of each lane, unless time runs out after some. */
const ROUNDS = byDepth(30, 30, 300);
const ROUNDS_AT_LEAST = 3;
const TIME_MS = byDepth(20_000, 20_000, 600_000);
const timeout = byDepth({}, {}, { timeout: 1_200_000 });
/** It ends what hangs; ten agents that wake at once keep a busy machine busy for long. */
const SETTLE_MS = 150_000;
/** The longest wait between strikes and the end of a round. */
const PAUSE_MS = 500;
/** Time for which an owner that no agent may follow is stopped. */
const STOP_MS = byDepth(5_000, 5_000, 120_000);
/** Time in which the next agent has the volume, on a busy machine too. */
const SUCCESSION_MS = 30_000;

/** All entries of the volume except the agents' own; directories can appear and disappear at the same time. */
async function readFiles(directory: string): Promise<Record<string, string>> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (!entries) return await readFiles(directory);
  const files: [string, string][] = [];
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(directory, file);
    if (!entry.isFile() || name.startsWith('.sync-agent')) continue;
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) files.push([name, text]);
  }
  return Object.fromEntries(files.sort());
}

/** Without the files behind the link, which can change while they are read one by one. */
const withoutTree = (files: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(files).filter(([name]) => !name.startsWith(`${ATOMIC}/`)));

/** The owner that the volume names; the file might be an earlier agent's. */
async function ownerOf(data: string): Promise<string | undefined> {
  const text = await readFile(path.join(data, '.sync-agent/owner.json'), 'utf8').catch(() => '');
  return /\bpod\d+\b/.exec(text)?.[0];
}

async function until(isReady: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!isReady()) {
    assert.ok(performance.now() < deadline, 'nothing happened in time');
    await sleep(5);
  }
}

interface LaneOptions {
  data: string;
  theirs: Record<string, string>;
  isAtomic: boolean;
}

class Lane {
  readonly #program: string;
  readonly #data: string;
  readonly #theirs: Record<string, string>;
  readonly #isAtomic: boolean;
  readonly #agents: RaceAgent[] = [];
  readonly counts = { killed: 0, stopped: 0 };
  #names = 0;

  constructor(program: string, { data, theirs, isAtomic }: LaneOptions) {
    this.#program = program;
    this.#data = data;
    this.#theirs = theirs;
    this.#isAtomic = isAtomic;
  }

  start(count: number): void {
    for (let n = 0; n < count; n += 1) this.#agents.push(this.#spawn());
  }

  /** Each new agent belongs to a new pod. */
  #spawn(): RaceAgent {
    this.#names += 1;
    return new RaceAgent(this.#program, { data: this.#data, name: `pod${this.#names}`, isAtomic: this.#isAtomic });
  }

  /** Kills one, or stops one; most often the one that has the volume. */
  async strike(): Promise<void> {
    await sleep(random() * 60);
    const owner = random() < 0.7 ? await ownerOf(this.#data) : undefined;
    const named = this.#agents.findIndex(({ name }) => name === owner);
    const index = named === -1 ? Math.floor(random() * this.#agents.length) : named;
    const agent = this.#agents[index];
    if (random() < 0.4) {
      await agent?.kill();
      this.#agents[index] = this.#spawn();
      this.counts.killed += 1;
    } else {
      agent?.stop();
      this.counts.stopped += 1;
    }
  }

  /** In all cases, each file is complete and from one commit, all files of a tree are from one, and files of others stay. */
  async checkFiles(): Promise<void> {
    const commits = this.#isAtomic ? commitsOf(readTree(this.#data)) : [];
    assert.ok([...commits].length <= 1, `mixed: ${[...commits]}`);
    const files = withoutTree(await readFiles(this.#data));
    for (const [name, text] of Object.entries(this.#theirs)) {
      assert.equal(files[name], text, name);
      delete files[name];
    }
    for (const [name, text] of Object.entries(files)) {
      assert.ok(commitOf(name, text), `${name} is of no commit: ${text.slice(0, 200)}`);
    }
  }

  /** Wakes all agents, lets one take the volume, and compares the volume with its delivery. */
  async settle(round: number): Promise<void> {
    await this.gather(round);
    for (const agent of this.#agents) agent.tell(0);
  }

  /** The same, but they stay in the round: the one that has the volume keeps it. */
  async gather(round: number): Promise<void> {
    for (const agent of this.#agents) {
      agent.tell(round);
      if (agent.isStopped) agent.wake();
    }
    const isReady = async () => {
      if (this.#agents.some(({ answer }) => answer?.round !== round)) return false;
      const commit = this.ownerIn(round)?.answer?.commit;
      return commit !== undefined && (await this.#isInPlace(commit));
    };
    const deadline = performance.now() + SETTLE_MS;
    while (!(await isReady())) {
      this.#checkProblems();
      if (performance.now() > deadline) await this.#explain(round);
      await sleep(5);
    }
  }

  /** The agent that has the volume in a round, in which none lets go of it. */
  ownerIn(round: number): RaceAgent | undefined {
    const owners = this.#agents.filter(({ answer }) => answer?.round === round && answer.commit !== undefined);
    assert.ok(owners.length <= 1, `${owners.map(({ name }) => name)} have the volume at the same time`);
    return owners[0];
  }

  /** Kills the agent that has the volume in a round; gives how long it takes until another one has it. */
  async succeed(round: number): Promise<number> {
    const owner = this.ownerIn(round);
    assert.ok(owner);
    await owner.kill();
    const start = performance.now();
    this.#agents.splice(this.#agents.indexOf(owner), 1);
    await until(() => this.ownerIn(round) !== undefined, SETTLE_MS);
    const passedMs = performance.now() - start;
    this.#agents.push(this.#spawn());
    return passedMs;
  }

  /** Stops the agent that has the volume in a round: it keeps it, and the tree does not change. */
  async stopOwner(round: number): Promise<void> {
    const owner = this.ownerIn(round);
    assert.ok(owner?.answer?.commit);
    owner.stop();
    const deadline = performance.now() + STOP_MS;
    while (performance.now() < deadline) {
      assert.equal(this.ownerIn(round), owner);
      assert.ok(await this.#isInPlace(owner.answer.commit));
      await sleep(50);
    }
    owner.wake();
  }

  async #isInPlace(commit: string): Promise<boolean> {
    const manifest = await readFile(path.join(this.#data, '.sync-agent/manifest.jsonl'));
    const parsed = await parseManifest([manifest]);
    if (parsed.kind !== 'manifest' || parsed.manifest.applied?.commit !== commit) return false;
    const files = await readFiles(this.#data);
    if (!this.#isAtomic) {
      assert.deepEqual(files, { ...treeOf(commit), ...this.#theirs });
      return true;
    }
    assert.deepEqual(withoutTree(files), this.#theirs);
    assert.deepEqual(readTree(this.#data), atomicTreeOf(commit));
    const link = await readlink(path.join(this.#data, ATOMIC));
    assert.deepEqual(await readdir(path.join(this.#data, '.sync-agent/trees')), [path.basename(link)]);
    return true;
  }

  async #explain(round: number): Promise<never> {
    const answers = this.#agents.map(({ name, answer }) => ({ name, answer }));
    assert.fail(`round ${round} did not settle: ${JSON.stringify({ answers, owner: await ownerOf(this.#data) })}`);
  }

  #checkProblems(): void {
    for (const { name, problems } of this.#agents) assert.deepEqual([...problems], [], name);
  }

  async end(): Promise<void> {
    for (const agent of this.#agents) await agent.kill();
  }
}

suite('agents on one volume that are killed and stopped at random', { concurrency: LANES.length, ...timeout }, () => {
  let programs: TemporaryDirectory;
  let program: string;
  before(async () => {
    programs = await makeTemporaryDirectory('race-program-');
    program = await bundle('race-agent', programs.path);
  });
  after(() => programs.remove());

  const makeLane = async (t: TestContext, isAtomic = false) => {
    const directory = await makeTemporaryDirectory('race-');
    const data = path.join(directory.path, 'data');
    await mkdir(path.join(data, 'd1'), { recursive: true });
    const theirs = { 'own.db': 'of the gateway', 'd1/own': 'of the gateway, too' };
    for (const [name, text] of Object.entries(theirs)) await writeFile(path.join(data, name), text);
    const lane = new Lane(program, { data, theirs, isAtomic });
    t.after(async () => {
      await lane.end();
      await directory.remove();
    });
    return lane;
  };

  for (const { count, isAtomic } of LANES) {
    const whole = isAtomic ? 'trees' : 'files';
    test(`deliver only whole ${whole}, and one commit in the end, with ${count} agents`, timeout, async (t) => {
      const deadline = performance.now() + TIME_MS;
      const lane = await makeLane(t, isAtomic);
      lane.start(count);
      await lane.settle(1);
      let rounds = 0;
      while (!t.signal.aborted && rounds < ROUNDS && (rounds < ROUNDS_AT_LEAST || performance.now() < deadline)) {
        rounds += 1;
        for (let strikes = 1 + Math.floor(random() * 3); strikes > 0; strikes -= 1) await lane.strike();
        await lane.checkFiles();
        if (random() < 0.5) await sleep(random() * PAUSE_MS);
        await lane.checkFiles();
        await lane.settle(rounds + 1);
      }
      t.diagnostic(`${rounds} rounds, ${lane.counts.killed} killed, ${lane.counts.stopped} stopped`);
    });
  }

  test('wait for a stopped owner of the volume, which continues when it wakes', async (t) => {
    const lane = await makeLane(t);
    lane.start(3);
    await lane.gather(1);
    await lane.stopOwner(1);
    await lane.settle(2);
    await lane.checkFiles();
  });

  test('replace a killed owner of the volume at once', async (t) => {
    const lane = await makeLane(t);
    lane.start(3);
    const times: number[] = [];
    for (let round = 1; round <= 5; round += 1) {
      await lane.gather(round);
      times.push(await lane.succeed(round));
    }
    t.diagnostic(`after ${times.map((ms) => `${Math.round(ms)} ms`).join(', ')}`);
    for (const ms of times) assert.ok(ms < SUCCESSION_MS, `after ${ms} ms`);
  });
});
