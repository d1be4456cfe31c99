import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { PROGRAMS } from '../../scripts/images/programs.ts';
import { runCommand } from '../../scripts/testbed/run-command.ts';

const checkout = path.join(import.meta.dirname, '../..');
const script = path.join(checkout, 'scripts/images/assemble-root.ts');

for (const program of PROGRAMS) {
  test(`the entry point of ${program} is in the root file system that is assembled for it`, async (t) => {
    const root = await mkdtemp(path.join(tmpdir(), 'image-'));
    t.after(() => rm(root, { recursive: true }));
    const [command, ...args] = JSON.parse(await runCommand(process.execPath, [script, program, root]));
    const bundle = args.pop();
    assert.equal(command, 'node');
    assert.ok(args.every((flag: string) => flag.startsWith('--')));
    const { mode } = await stat(path.join(root, bundle));
    assert.equal(mode & 0o777, 0o644, 'an agent runs as any user');
    const files = (await readdir(path.join(root, 'app'))).sort();
    assert.deepEqual(files, ['LICENSE', ...['', '.LEGAL.txt', '.map'].map((end) => `${program}.mjs${end}`)]);
  });

  test(`the Dockerfile takes the files of ${program} from the same list`, async () => {
    const dockerfile = await readFile(path.join(checkout, 'Dockerfile'), 'utf8');
    assert.match(dockerfile, new RegExp(`^COPY --from=build /out/${program} /$`, 'm'));
  });
}
