import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type GitDaemon, startGitDaemon } from '../../../../scripts/testbed/git-daemon.ts';
import { holdAt } from '../support/hold-at.ts';
import { contents } from '../support/kill-at.ts';
import { GitMemory } from '../support/remembering-clone.ts';
import { createSandbox, type Sandbox } from '../support/sandbox.ts';

let server: GitDaemon;
before(async () => {
  server = await startGitDaemon();
});
after(() => server.stop());

/** More than a file takes on its way, and back. */
const STEPS = 25;

/** What the agent is at when it is held up; `openings` of folders succeed, so that it has to take back what it did. */
const works = [
  { title: 'it gives a file back', isTakenOver: true, wanted: null },
  { title: 'it takes back that it gave a file back', isTakenOver: true, wanted: null, openings: 1 },
  { title: 'it takes back that it took a file over', isTakenOver: false, wanted: 'one', openings: 1 },
];

suite('an agent that is held up right before any call, and makes it when another has the volume, loses nothing:', () => {
  for (const [index, { title, isTakenOver, wanted, openings }] of works.entries()) {
    for (const hasLinks of [true, false]) {
      test(`${title}, with${hasLinks ? '' : 'out'} hard links`, async (t) => {
        let commits = 0;
        const { url: repo, commit } = await server.createRepository(`held-up-${index}-${hasLinks}`);
        const files = (f: string | null, x: string | null = f) => commit({ files: { f, 'x/x': x, z: `${++commits}` } });
        const [one, work, three, none] = [
          await files(isTakenOver ? 'one' : null, isTakenOver ? 'one' : null),
          await files(wanted),
          await files('three'),
          await files(null),
        ];
        const memory = new GitMemory();
        for (let step = 1, isHeld = true; isHeld; step += 1) {
          assert.ok(step < STEPS, 'never reached the end');
          const sandbox: Sandbox = await createSandbox(t, { memory });
          writeFileSync(path.join(sandbox.data, 'f'), 'ORIGINAL');
          const never = holdAt(t, { step: Number.POSITIVE_INFINITY, hasLinks });
          await sandbox.sync({ repo, commit: one });
          never();
          const open = sandbox.root.openFolder.bind(sandbox.root);
          let left = openings ?? Number.POSITIVE_INFINITY;
          const fails = t.mock.method(sandbox.root, 'openFolder', (folder: string) => {
            left -= 1;
            if (left >= 0 || folder === '') return open(folder);
            fails.mock.restore();
            throw Object.assign(new Error('EIO: played'), { code: 'EIO' });
          });
          let goOn: (() => void) | undefined;
          const onHeld = (call: () => void) => {
            goOn = call;
          };
          const end = holdAt(t, { step, hasLinks, from: /\/f$/, onHeld });
          await sandbox.sync({ repo, commit: work }).catch((error) => assert.match(error.message, /EIO: /));
          isHeld = end();
          fails.mock.restore();
          await sandbox.restart();
          const endOfPlay = holdAt(t, { step: Number.POSITIVE_INFINITY, hasLinks });
          await sandbox.sync({ repo, commit: three });
          try {
            goOn?.();
          } catch {} // that it fails is the best that can happen
          for (const next of [three, none]) await sandbox.sync({ repo, commit: next });
          endOfPlay();
          assert.equal((await sandbox.files()).f, 'ORIGINAL', `step ${step}: ${contents(sandbox)}`);
        }
      });
    }
  }
});
