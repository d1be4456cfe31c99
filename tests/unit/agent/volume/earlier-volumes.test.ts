import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { takenOverExtent } from '../../../../agent/volume/scan/extent-of.ts';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';
import { SEED, slow } from '../../../support/depth.ts';
import { describeKill, everyStep, STRIDE } from '../support/kill-at.ts';
import { KilledVolume } from '../support/killed-volume.ts';

/** An entry of a volume: a link, another name of a file, a file, or a directory. */
interface Entry {
  path: string;
  link?: string;
  same?: string;
  text?: string;
  mode?: string;
}

/** A volume that an agent left which restored files from `taken-over`: one for each step at which it was killed. */
interface Earlier {
  title: string;
  hasLinks?: boolean;
  entries: Entry[];
}

const volumes: Earlier[] = fs
  .readFileSync(path.join(import.meta.dirname, '../support/earlier-volumes.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line));

const stories = new Map<string, Earlier[]>();
for (const volume of volumes) stories.set(volume.title, [...(stories.get(volume.title) ?? []), volume]);

function unpack(entries: readonly Entry[], data: string): void {
  for (const { path: name, link, same, text, mode = '' } of entries) {
    const at = path.join(data, name);
    if (link !== undefined) fs.symlinkSync(link, at);
    else if (same !== undefined) fs.linkSync(path.join(data, same), at);
    else if (text !== undefined) fs.writeFileSync(at, text);
    else fs.mkdirSync(at, { recursive: true });
    if (mode !== '' && text !== undefined) fs.chmodSync(at, Number.parseInt(mode, 8));
  }
  const directories = entries.filter(({ link, same, text }) => (link ?? same ?? text) === undefined);
  for (const { path: name, mode = '' } of directories.toReversed())
    fs.chmodSync(path.join(data, name), Number.parseInt(mode, 8));
}

/** Contents of `taken-over`, and of files that aren't the agent's. */
const theirsIn = (volume: KilledVolume): string[] =>
  [...volume.own('taken-over'), ...Object.values(volume.contents())].filter((text) => text === 'theirs');

suite('on a volume of an agent that restored files', () => {
  for (const [title, earlier] of stories) {
    const root = title.includes('directory') ? ['t'] : [];
    const file = root.length > 0 ? 't/a' : 'd/a';
    const open = async (volume: KilledVolume, { entries, hasLinks = true }: Earlier) => {
      await volume.empty({ hasLinks, keepsInodes: false });
      unpack(entries, volume.data);
      volume.roots = root;
    };

    test(`nothing is lost if it was killed at any step while ${title}`, async (t) => {
      const volume = await KilledVolume.create(t);
      for (const [index, each] of earlier.entries()) {
        if ((index + SEED) % STRIDE !== 0) continue;
        for (const wanted of [{ b: '1' }, { [file]: '2', b: '2' }]) {
          await open(volume, each);
          await volume.sync(wanted);
          const what = `volume ${index}: ${JSON.stringify(volume.everything())}`;
          assert.ok(theirsIn(volume).length > 0, what);
          const { [file]: delivered, b, ...others } = volume.contents();
          if (file in wanted) assert.deepEqual([delivered, b], ['2', '2'], what);
          // Without hard links, that agent could leave an empty file, whose content was still kept.
          else assert.ok(b === '1' && [undefined, 'theirs', ''].includes(delivered), what);
          assert.ok(
            Object.values(others).every((text) => text === 'theirs'),
            what,
          );
          assert.deepEqual([volume.own('saved'), volume.own('staging'), volume.hasJournal], [[], [], false], what);
          await volume.sync({ b: '3' });
          assert.ok(theirsIn(volume).length > 0, what);
        }
      }
    });

    test(`the agent that takes it over can be killed as well, after ${title}`, slow, async (t) => {
      const volume = await KilledVolume.create(t);
      const each = earlier[Math.floor(earlier.length / 2)] as Earlier;
      await everyStep(t, { atLeast: 9, atMost: 200 }, async (step) => {
        await open(volume, each);
        const played = await volume.sync({ [file]: '2', b: '2' }, {}, step);
        await volume.sync({ b: '3' });
        const what = `${describeKill({ step }, played)}: ${JSON.stringify(volume.everything())}`;
        assert.ok(theirsIn(volume).length > 0, what);
        const { b, ...others } = volume.contents();
        assert.equal(b, '3', what);
        assert.ok(
          Object.values(others).every((text) => text === 'theirs'),
          what,
        );
        return played;
      });
    });
  }

  test('an empty file that was restored is not taken for a placeholder of the agent', async (t) => {
    const volume = await KilledVolume.create(t);
    let restored = 0;
    for (const { title, entries, hasLinks } of volumes) {
      if (hasLinks !== false || title.includes('directory')) continue;
      await volume.empty({ hasLinks, keepsInodes: false });
      const isTheirs = ({ text }: Entry) => text === 'theirs';
      unpack(
        entries.map((entry) => (isTheirs(entry) ? { ...entry, text: '', mode: '600' } : entry)),
        volume.data,
      );
      if (entries.some((entry) => isTheirs(entry) && entry.path === 'd/a')) restored += 1;
      await volume.sync({ b: '1' });
      const what = JSON.stringify(volume.everything());
      assert.ok(volume.contents()['d/a'] === '' || volume.own('taken-over').includes(''), what);
    }
    assert.ok(restored > 0);
  });

  test('kept files and directories are listed', async (t) => {
    for (const [title, name] of [
      ['a file is restored', /^4d614069df6bdda3-a\.kept$/],
      ['a directory is restored', /^[0-9a-f]{16}-t\.kept$/],
    ] as const) {
      const volume = await KilledVolume.create(t);
      await volume.empty({ hasLinks: true, keepsInodes: false });
      unpack(stories.get(title)?.[0]?.entries ?? [], volume.data);
      const root = await DataRoot.open(volume.data);
      const { names } = await takenOverExtent(root);
      assert.equal(names.length, 1);
      assert.match(names[0] ?? '', name);
    }
  });
});
