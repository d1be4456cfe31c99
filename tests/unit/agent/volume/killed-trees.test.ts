import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { ResolvedProfile } from '../../../../shared/domain/kubernetes/resolve-profile.ts';
import { describeKill, everyKill, type Kill, killAt, type Play, startNext } from '../support/kill-at.ts';
import { createLocalRepository } from '../support/local-sandbox.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';
import { below, mappingOf, ownContents, treeOf, treesOf, writeInto } from '../support/tree-files.ts';

type Profile = Partial<ResolvedProfile>;

const other = mappingOf('other', 'other');
const atomic: Profile = { mappings: [mappingOf('d', 'x/d', { publish: 'atomic' }), other] };
const plain: Profile = { mappings: [mappingOf('d', 'x/d'), other] };
const nothing: Profile = { mappings: [other] };

const FILES = {
  first: { a: '1', gone: '1', same: '1', 'sub/b': '1', 'old/c': '1' },
  second: { a: '2', same: '1', 'sub/b': '1', 'sub/n': '2', 'new/e': '2' },
};
type Commit = keyof typeof FILES;

interface Story {
  title: string;
  /** Files at the destination before the first sync. */
  theirs?: Record<string, string>;
  before: Profile[];
  killed: Profile;
  /** The gateway wrote nothing, because a directory with such files isn't replaced. */
  isUnwritten?: boolean;
  /** Whether the tree is prepared before the sync, and the next one after it. */
  isPrepared?: boolean;
  /** Whether readers see one of both trees at any time. */
  isAtomic?: boolean;
  /** What `taken-over` has in the end. */
  takenOver: string[];
}

const theirs = { a: 'theirs', 'deep/own': 'theirs, too' };
const stories: Story[] = [
  { title: 'a tree is exchanged', before: [atomic], killed: atomic, isAtomic: true, takenOver: ['written'] },
  {
    title: 'a tree that was prepared is exchanged, and the next one is prepared',
    before: [atomic],
    isPrepared: true,
    killed: atomic,
    isAtomic: true,
    takenOver: ['written'],
  },
  { title: 'publish: atomic is set', before: [plain], isUnwritten: true, killed: atomic, takenOver: [] },
  { title: 'publish: atomic is removed', before: [atomic], killed: plain, takenOver: ['written'] },
  { title: 'the mapping is removed', before: [atomic], killed: nothing, takenOver: ['written'] },
  {
    title: 'a directory of the gateway is taken over',
    theirs,
    before: [],
    killed: atomic,
    takenOver: ['theirs', 'theirs, too'],
  },
  {
    title: 'the mapping of a directory of the gateway is removed',
    theirs,
    before: [atomic],
    killed: nothing,
    takenOver: ['theirs', 'theirs, too', 'written'],
  },
];

const STEPS = { atLeast: 25, atMost: 250 };

suite('an agent that is killed at any step while', () => {
  for (const [index, story] of stories.entries()) {
    test(story.title, async (t) => {
      const { url: repo, commit } = await createLocalRepository(`killed-tree-${index}`);
      const filesOf = (name: Commit) => Object.entries(FILES[name]).map(([file, text]) => [`d/${file}`, text]);
      const ids = {
        first: await commit({ files: { ...Object.fromEntries(filesOf('first')), other: '1' } }),
        second: await commit({
          files: { 'd/gone': null, 'd/old/c': null, ...Object.fromEntries(filesOf('second')), other: '2' },
        }),
      };
      const memory = new GitMemory();
      const play = async (kill: Kill): Promise<Play> => {
        const sandbox = await createSandbox(t, { memory });
        const directory = path.join(sandbox.data, 'x/d');
        for (const [file, text] of Object.entries(story.theirs ?? {})) {
          fs.mkdirSync(path.dirname(path.join(directory, file)), { recursive: true });
          fs.writeFileSync(path.join(directory, file), text);
        }
        for (const profile of story.before) await sandbox.sync({ repo, commit: ids.first, profile });
        if (story.before.length > 0 && !story.isUnwritten) writeInto(treeOf(sandbox, 'x/d'), 'cache/w', 'written');
        if (story.isPrepared) await sandbox.prepareTrees();
        const played = killAt(sandbox.data, kill);
        const killed = { repo, commit: ids.second, profile: story.killed };
        const run = async () => {
          await sandbox.sync(killed);
          await sandbox.removeTrees();
          if (story.isPrepared) await sandbox.prepareTrees();
        };
        await run().catch((error) => assert.match(error.message, /EIO: killed/));
        played.end();
        const step = describeKill(kill, played);
        if (story.isAtomic) expectOneTree(below(treeOf(sandbox, 'x/d')), step);
        await startNext(sandbox);
        // An earlier or the same commit can follow.
        if (kill.step % 2 === 0 && story.before.length > 0) {
          await sandbox.sync({ repo, commit: ids.first, profile: story.before[0] ?? {} });
          assert.deepEqual(withoutCache(below(treeOf(sandbox, 'x/d'))), sorted(FILES.first), step);
        }
        await sandbox.sync(killed);
        await sandbox.removeTrees();
        if (story.isPrepared) await removeSpare(sandbox, step);
        expectEnd(sandbox, story, step);
        return played;
      };
      await everyKill(t, STEPS, play);
    });
  }
});

function expectOneTree(files: Record<string, string>, step: string): void {
  const found = JSON.stringify(withoutCache(files));
  assert.ok(
    Object.values(FILES).some((tree) => JSON.stringify(sorted(tree)) === found),
    `${step}: mixed ${found}`,
  );
}

/** Prepares the next tree, and removes what belongs there. */
async function removeSpare(sandbox: Sandbox, step: string): Promise<void> {
  await sandbox.prepareTrees();
  const building = path.join(sandbox.data, '.sync-agent/building');
  const names = fs.readdirSync(building);
  assert.equal(names.length, 1, `${step}: ${names}`);
  const spare = path.join(building, names[0] ?? '');
  assert.deepEqual(below(spare), sorted(FILES.second), step);
  fs.rmSync(spare, { recursive: true });
}

function expectEnd(sandbox: Sandbox, { killed, takenOver }: Story, step: string): void {
  const directory = path.join(sandbox.data, 'x/d');
  const isMapped = killed !== nothing;
  const found = fs.existsSync(directory) ? below(directory) : {};
  const wanted = isMapped ? FILES.second : {};
  // With `publish: files`, the gateway's files stay where they are, unless the directory was exchanged.
  assert.deepEqual(withoutCache(found), sorted(wanted), step);
  const isLink = fs.lstatSync(directory, { throwIfNoEntry: false })?.isSymbolicLink() ?? false;
  assert.equal(isLink, killed === atomic, step);
  assert.deepEqual(treesOf(sandbox), isLink ? [path.basename(treeOf(sandbox, 'x/d'))] : [], step);
  assert.deepEqual(ownContents(sandbox, 'taken-over'), takenOver, step);
  for (const name of ['building', 'staging', 'saved']) {
    const own = path.join(sandbox.data, '.sync-agent', name);
    assert.deepEqual(fs.existsSync(own) ? fs.readdirSync(own) : [], [], `${step}: ${name}`);
  }
}

const sorted = (files: Record<string, string>) => Object.fromEntries(Object.entries(files).sort());

const withoutCache = ({ 'cache/w': _, ...files }: Record<string, string>) => sorted(files);
