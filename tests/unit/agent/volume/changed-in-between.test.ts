import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, type TestContext, test } from 'node:test';
import { codeOf } from '../../../../shared/errors.ts';
import { slow } from '../../../support/depth.ts';
import { actAt, contents, everyStep, failAt } from '../support/kill-at.ts';
import { localAgents } from '../support/local-sandbox.ts';
import { onceRead } from '../support/volume-calls.ts';

/** Number of changes in the sync of two files. */
const STEPS = { atLeast: 8, atMost: 80 };

interface Kind {
  isOwned: boolean;
  wanted: string | null;
}

/** Makes sandboxes with `f` in them, and a commit that is to do something with it. */
async function prepareAll(t: TestContext, { isOwned, wanted }: Kind) {
  const { targetOf, createAgent } = await localAgents(t);
  const first = await targetOf({ f: isOwned ? 'one' : null, 'x/x': '1', z: '1' });
  const second = await targetOf({ f: wanted, 'x/x': '2' });
  return async () => {
    const sandbox = await createAgent();
    const file = path.join(sandbox.data, 'f');
    await sandbox.sync(first);
    if (!isOwned) fs.writeFileSync(file, 'theirs');
    return { sandbox, file, sync: () => sandbox.sync(second) };
  };
}

const prepare = async (t: TestContext, kind: Kind) => await (await prepareAll(t, kind))();

const cases = [
  { title: 'a file of the agent that is replaced', isOwned: true, wanted: 'two' },
  { title: 'a file of the agent that is removed', isOwned: true, wanted: null },
  { title: 'a file that is taken over', isOwned: false, wanted: 'two' },
];
const ways = {
  'moves another over it': (file: string) => {
    fs.writeFileSync(`${file}-new`, 'GATEWAY');
    return () => fs.renameSync(`${file}-new`, file);
  },
  'writes into it': (file: string) => {
    const descriptor = fs.openSync(file, 'r+');
    return () => {
      fs.writeSync(descriptor, 'GATEWAY', 0);
      fs.closeSync(descriptor);
    };
  },
};
suite('while the agent rereads a file', () => {
  for (const { title, ...kind } of cases) {
    for (const [way, begin] of Object.entries(ways)) {
      for (const hasLinks of [true, false]) {
        test(`${title}, the gateway ${way}, with${hasLinks ? '' : 'out'} hard links: nothing is lost`, async (t) => {
          const { sandbox, file, sync } = await prepare(t, kind);
          const time = new Date(Date.now() + 5000);
          const act = begin(file);
          // Once the plan is made the time changes, so that the file is read again.
          const touch = () => {
            fs.utimesSync(file, time, time);
            onceRead(file, () => {
              act();
              isRead = true;
            });
          };
          let isRead = false;
          const played = actAt(sandbox.data, 1, touch, { hasLinks });
          const outcome = await sync().then(() => 'done', codeOf);
          played.end();
          assert.ok(isRead);
          // A removed file leaves space for another one.
          const hasRoom = kind.wanted === null && way === 'moves another over it';
          assert.equal(outcome, hasRoom ? 'done' : 'data.changed');
          assert.equal(fs.readFileSync(file, 'utf8'), 'GATEWAY');
          if (!kind.isOwned) await sync();
          await sandbox.restart();
          if (!kind.isOwned) await sync();
          assert.ok(contents(sandbox).includes('GATEWAY'));
        });
      }
    }
  }
});

test('a directory that is removed while it is empty is recreated, by this sync or the next one', async (t) => {
  const { targetOf, createAgent } = await localAgents(t);
  const target = await targetOf({ 'new/f': '1' });
  await everyStep(t, STEPS, async (step) => {
    const sandbox = await createAgent();
    const removeEmpty = () => {
      try {
        fs.rmdirSync(path.join(sandbox.data, 'new'));
      } catch {}
    };
    const played = actAt(sandbox.data, step, removeEmpty);
    await sandbox.sync(target).catch((error) => assert.equal(error.code, 'data.changed'));
    played.end();
    await sandbox.sync(target);
    assert.deepEqual(await sandbox.files(), { 'new/f': '1' });
    return played;
  });
});

suite('a sync that fails at any step', () => {
  for (const { title, ...kind } of cases.filter(({ wanted }) => wanted)) {
    test(`keeps data that the gateway already wrote to the new file in the place of ${title}`, slow, async (t) => {
      const make = await prepareAll(t, kind);
      let writes = 0;
      await everyStep(t, STEPS, async (step) => {
        const { sandbox, file, sync } = await make();
        const read = () => fs.readFileSync(file, 'utf8');
        let isWritten = false;
        const inBetween = () => {
          isWritten = read() === 'two';
          if (isWritten) fs.writeFileSync(file, 'GATEWAY');
        };
        const played = failAt(sandbox.data, step, 'ENOSPC', { inBetween });
        await sync().catch((error) => assert.match(error.message, /ENOSPC: played/));
        played.end();
        // After the sync has delivered everything, the file is the agent's, and is repaired.
        const isTakenBack = fs.readFileSync(path.join(sandbox.data, 'x/x'), 'utf8') === '1';
        if (!isWritten || !isTakenBack) return played;
        writes += 1;
        assert.equal(read(), 'GATEWAY');
        if (kind.isOwned) return played;
        await sync();
        const all = contents(sandbox);
        assert.ok(all.includes('GATEWAY') && all.includes('theirs'), `${all}`);
        return played;
      });
      assert.ok(writes >= 1);
    });
  }
});
