import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, suite, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeTemporaryDirectory, type TemporaryDirectory } from '../../../scripts/testbed/temporary-directory.ts';
import { bundle } from '../../integration/agent/support/bundle.ts';
import { atomicTreeOf, commitOf, readTree } from '../../integration/agent/support/race-tree.ts';
import { byDepth } from '../../support/depth.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { RaceAgent } from './race-agent.ts';

/** Duration of each test. */
const TIME_MS = byDepth(20_000, 20_000, 300_000);
const limit = { timeout: TIME_MS + 300_000 };
/** Time in which the agent delivers after the gateway stops (ms). */
const SETTLE_MS = 60_000;
const SWAPS_AT_LEAST = 20;
const DELIVERIES_AT_LEAST = 5;

/** Names in a directory outside the volume: those of files of a commit, and of the agent's own. */
const NAMES = [
  'canary',
  'f0',
  'f1/inner',
  ...['d0', 'd1', 'd2', 'same', 'tree', 'trees', 'building', 'staging', 'saved', 'taken-over'].flatMap((directory) =>
    ['0', 'f0', 'f1', 's0', 's2', 'canary'].map((name) => `${directory}/${name}`),
  ),
  'manifest.jsonl',
  'journal.jsonl',
  'agent.lock',
  'owner.json',
];

interface Outside {
  directory: string;
  entries: string[];
}

/** Old times of access, so that each system with the option `relatime` records an access. */
function createOutside(directory: string): Outside {
  for (const name of NAMES) {
    fs.mkdirSync(path.dirname(path.join(directory, name)), { recursive: true });
    fs.writeFileSync(path.join(directory, name), `outside ${name}`);
  }
  const entries = [directory, ...listAll(directory)];
  for (const entry of entries.toReversed()) fs.utimesSync(entry, 1000, 2000);
  return { directory, entries };
}

const listAll = (directory: string): string[] =>
  fs
    .readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(directory, name))
    .sort();

/** Properties that reads, writes, and links change. */
const stateOf = ({ entries }: Outside) =>
  entries.map((entry) => {
    const { ino, mode, nlink, size, atimeMs, mtimeMs, ctimeMs } = fs.lstatSync(entry);
    return { entry, ino, mode, nlink, size, atimeMs, mtimeMs, ctimeMs };
  });

/** Waits for a delivery in a round, and returns its commit. The changing volume may make the agent fail, but never stop. */
async function settle(agent: RaceAgent, round: number): Promise<string> {
  agent.tell(round);
  const deadline = performance.now() + SETTLE_MS;
  while (agent.answer?.round !== round || agent.answer.commit === undefined) {
    assert.ok(agent.isRunning, 'the agent has stopped');
    assert.ok(performance.now() < deadline, `the agent doesn't deliver: ${agent.problems.at(-1)}`);
    await sleep(10);
  }
  return agent.answer.commit;
}

suite('a gateway that replaces directories and links of its volume by links out of it', () => {
  let programs: TemporaryDirectory;
  let agentProgram: string;
  let gatewayProgram: string;
  before(async () => {
    programs = await makeTemporaryDirectory('hostile-program-');
    agentProgram = await bundle('race-agent', programs.path);
    gatewayProgram = await bundle('hostile-gateway', programs.path);
  });
  after(() => programs.remove());

  const prepare = async (t: TestContext) => {
    const directory = await temporaryDirectory(t, 'hostile-');
    const data = path.join(directory, 'data');
    fs.mkdirSync(data);
    const outside = createOutside(path.join(directory, 'outside'));
    const agent = new RaceAgent(agentProgram, { data, name: 'pod', isAtomic: true });
    t.after(() => agent.kill());
    const order = JSON.stringify({ data, outside: outside.directory });
    const gateway = spawn(process.execPath, [gatewayProgram, order], { stdio: ['pipe', 'pipe', 'inherit'] });
    t.after(() => gateway.kill());
    const end = async (): Promise<number> => {
      let text = '';
      gateway.stdout.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
      });
      const closed = once(gateway, 'close');
      gateway.stdin.end();
      await closed;
      return Number(text);
    };
    return { data, outside, agent, end };
  };

  /** Checks that the agent delivers a whole tree again. */
  const expectDelivery = async (data: string, agent: RaceAgent) => {
    const commit = await settle(agent, Number.MAX_SAFE_INTEGER);
    assert.deepEqual(readTree(data), atomicTreeOf(commit));
  };

  test('never makes the agent read, write, link, or delete anything outside', limit, async (t) => {
    const { data, outside, agent, end } = await prepare(t);
    const before = stateOf(outside);
    await sleep(TIME_MS);
    const swaps = await end();
    await expectDelivery(data, agent);
    assert.deepEqual(stateOf(outside), before);
    assert.deepEqual([outside.directory, ...listAll(outside.directory)], outside.entries);
    t.diagnostic(`${swaps} swaps`);
    assert.ok(swaps >= SWAPS_AT_LEAST, `only ${swaps} swaps`);
  });

  test('never makes a reader that resolves the link once see files of two commits', limit, async (t) => {
    const { data, agent, end } = await prepare(t);
    const start = performance.now();
    const isOver = (passedMs: number) =>
      passedMs > TIME_MS && (seen.size >= DELIVERIES_AT_LEAST || passedMs > TIME_MS + SETTLE_MS);
    const seen = new Set<string>();
    while (!isOver(performance.now() - start)) {
      const files = Object.entries(readTree(data));
      const commits = new Set(files.flatMap(([name, text]) => commitOf(name, text) ?? []));
      assert.ok(commits.size <= 1, `mixed: ${[...commits]}`);
      for (const commit of commits) seen.add(commit);
      await sleep(1);
    }
    const swaps = await end();
    await expectDelivery(data, agent);
    t.diagnostic(`${swaps} swaps, ${seen.size} commits seen`);
    assert.ok(seen.size >= DELIVERIES_AT_LEAST, `saw only ${seen.size} commits`);
  });
});
