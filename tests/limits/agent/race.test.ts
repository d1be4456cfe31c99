import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseManifest } from '../../../agent/volume/parse-manifest.ts';
import { makeTemporaryFolder, type TemporaryFolder } from '../../../scripts/testbed/temporary-folder.ts';
import { bundle } from '../../integration/agent/support/bundle.ts';
import { commitOf, treeOf } from '../../integration/agent/support/race-tree.ts';

/** Agents on one volume, in each lane. */
const LANES = [2, 3, 10];
/** Of each lane, unless the time is over before and some have been; RACE_TEST_ROUNDS asks for more, however long it takes. */
const ROUNDS = Number(process.env.RACE_TEST_ROUNDS ?? '30');
const ROUNDS_AT_LEAST = 3;
const TIME_MS = process.env.RACE_TEST_ROUNDS ? Number.POSITIVE_INFINITY : 20_000;
/** It ends what hangs; ten agents that wake at once keep a busy machine busy for long. */
const SETTLE_MS = 150_000;
const TIMES = { beatMs: 15, staleMs: 250 };

interface Answer {
  round: number;
  /** Missing where another agent has the volume. */
  commit?: string;
}

/** An agent in its own process, which is killed and stopped at will. */
class Agent {
  readonly name: string;
  readonly #child: ChildProcess;
  answer: Answer | undefined;
  readonly problems: string[] = [];
  isStopped = false;

  constructor(program: string, data: string, name: string) {
    this.name = name;
    const order = JSON.stringify({ data, name, times: TIMES });
    this.#child = spawn(process.execPath, [program, order], { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdin?.on('error', () => {});
    createInterface({ input: this.#child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      const said = JSON.parse(line) as Answer & { problem?: string };
      if (said.problem) this.problems.push(said.problem);
      else this.answer = said;
    });
  }

  tell(round: number): void {
    this.#child.stdin?.write(`${round}\n`);
  }

  stop(): void {
    this.isStopped = this.#child.kill('SIGSTOP');
  }

  wake(): void {
    this.isStopped = false;
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGKILL');
    await closed;
  }
}

/** Everything in the volume but the agents' own; folders may come and go meanwhile. */
async function readFiles(folder: string): Promise<Record<string, string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw error;
  });
  if (!entries) return await readFiles(folder);
  const files: [string, string][] = [];
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file);
    if (!entry.isFile() || name.startsWith('.sync-agent')) continue;
    const text = await readFile(file, 'utf8').catch(() => undefined);
    if (text !== undefined) files.push([name, text]);
  }
  return Object.fromEntries(files.sort());
}

async function ownerOf(data: string): Promise<string | undefined> {
  const folder = path.join(data, '.sync-agent/lock');
  const numbers = (await readdir(folder)).map((name) => Number.parseInt(name, 10));
  const text = await readFile(path.join(folder, `${Math.max(...numbers)}.json`), 'utf8').catch(() => '{}');
  return (JSON.parse(text || '{}') as { podUid?: string }).podUid;
}

class Lane {
  readonly #program: string;
  readonly #data: string;
  readonly #theirs: Record<string, string>;
  readonly #agents: Agent[] = [];
  readonly counts = { killed: 0, stopped: 0 };
  #names = 0;

  constructor(program: string, data: string, theirs: Record<string, string>) {
    this.#program = program;
    this.#data = data;
    this.#theirs = theirs;
  }

  start(count: number): void {
    for (let n = 0; n < count; n += 1) this.#agents.push(this.#spawn());
  }

  /** Each new agent is that of a new pod. */
  #spawn(): Agent {
    this.#names += 1;
    return new Agent(this.#program, this.#data, `pod${this.#names}`);
  }

  /** Kills one, or stops one for less or more than it takes to be given up; most often the one that has the volume. */
  async strike(): Promise<void> {
    await sleep(Math.random() * 60);
    const owner = Math.random() < 0.7 ? await ownerOf(this.#data).catch(() => undefined) : undefined;
    const named = this.#agents.findIndex(({ name }) => name === owner);
    const index = named === -1 ? Math.floor(Math.random() * this.#agents.length) : named;
    const agent = this.#agents[index];
    if (Math.random() < 0.4) {
      await agent?.kill();
      this.#agents[index] = this.#spawn();
      this.counts.killed += 1;
    } else {
      agent?.stop();
      this.counts.stopped += 1;
    }
  }

  /** Whatever happens, each file is whole and of one commit, and what is somebody else's stays. */
  async checkFiles(): Promise<void> {
    const { ...files } = await readFiles(this.#data);
    for (const [name, text] of Object.entries(this.#theirs)) {
      assert.equal(files[name], text, name);
      delete files[name];
    }
    for (const [name, text] of Object.entries(files)) {
      assert.ok(commitOf(name, text), `${name} is of no commit: ${text.slice(0, 200)}`);
    }
  }

  /** Wakes all, lets one have the volume, and compares with what that one brought in place. */
  async settle(round: number): Promise<void> {
    for (const agent of this.#agents) {
      agent.tell(round);
      if (agent.isStopped) agent.wake();
    }
    const isReady = async () => {
      if (this.#agents.some(({ answer }) => answer?.round !== round)) return false;
      const owner = this.#agents[await this.#owner()];
      return owner?.answer?.commit !== undefined && (await this.#isInPlace(owner.answer.commit));
    };
    const deadline = performance.now() + SETTLE_MS;
    while (!(await isReady())) {
      this.#checkProblems();
      if (performance.now() > deadline) await this.#explain(round);
      await sleep(5);
    }
    for (const agent of this.#agents) agent.tell(0);
  }

  async #owner(): Promise<number> {
    const owner = await ownerOf(this.#data).catch(() => undefined);
    return this.#agents.findIndex(({ name }) => name === owner);
  }

  async #isInPlace(commit: string): Promise<boolean> {
    const manifest = await readFile(path.join(this.#data, '.sync-agent/manifest.jsonl'));
    const parsed = await parseManifest([manifest]);
    if (parsed.kind !== 'manifest' || parsed.manifest.applied?.commit !== commit) return false;
    const wanted = { ...treeOf(commit), ...this.#theirs };
    const files = await readFiles(this.#data);
    const isSame = JSON.stringify(files) === JSON.stringify(Object.fromEntries(Object.entries(wanted).sort()));
    // Unless it was read while another one took over, what an owner has brought in place is there at once.
    if (!isSame && this.#agents[await this.#owner()]?.answer?.commit === commit) assert.deepEqual(files, wanted);
    return isSame;
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

suite('agents on one volume, killed and stopped at random', { concurrency: LANES.length }, () => {
  let programs: TemporaryFolder;
  let program: string;
  before(async () => {
    programs = await makeTemporaryFolder('race-program-');
    program = await bundle('race-agent', programs.path);
  });
  after(() => programs.remove());

  for (const count of LANES) {
    test(`${count} of them: every file is of exactly one commit, and in the end all of one`, async (t) => {
      const deadline = performance.now() + TIME_MS;
      const folder = await makeTemporaryFolder('race-');
      const data = path.join(folder.path, 'data');
      await mkdir(path.join(data, 'd1'), { recursive: true });
      const theirs = { 'own.db': 'of the gateway', 'd1/own': 'of the gateway, too' };
      for (const [name, text] of Object.entries(theirs)) await writeFile(path.join(data, name), text);
      const lane = new Lane(program, data, theirs);
      t.after(async () => {
        await lane.end();
        await folder.remove();
      });
      lane.start(count);
      await lane.settle(1);
      let rounds = 0;
      while (rounds < ROUNDS && (rounds < ROUNDS_AT_LEAST || performance.now() < deadline)) {
        rounds += 1;
        for (let strikes = 1 + Math.floor(Math.random() * 3); strikes > 0; strikes -= 1) await lane.strike();
        await lane.checkFiles();
        if (Math.random() < 0.5) await sleep(Math.random() * 2 * TIMES.staleMs);
        await lane.checkFiles();
        await lane.settle(rounds + 1);
      }
      t.diagnostic(`${rounds} rounds, ${lane.counts.killed} killed, ${lane.counts.stopped} stopped`);
    });
  }
});
