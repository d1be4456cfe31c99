import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { commandsIn } from '../../../../scripts/site/console-commands.ts';
import { blocksOf, readPages } from '../../../support/markdown.ts';

test('a command has its continued lines and here-documents, and the lines after it are its output', () => {
  const block = "$ a --b \\\n    --c\nout\n\n1\n$ d \\\n  - <<'EOF'\n$ x\ny \\\nEOF\nlast\n$ e\n";
  assert.deepEqual(commandsIn(block), [
    { command: 'a --b \\\n    --c', output: 'out\n\n1' },
    { command: "d \\\n  - <<'EOF'\n$ x\ny \\\nEOF", output: 'last' },
    { command: 'e', output: '' },
  ]);
});

test('the commands of all pages are complete, according to bash', async () => {
  const blocks = (await readPages()).flatMap(blocksOf).filter(({ language }) => language === 'console');
  const commands = blocks.map(({ code }) => commandsIn(code).map(({ command }) => command));
  assert.ok(commands.length > 100 && commands.every(({ length }) => length > 0));
  const { status, stderr } = spawnSync('bash', ['-n'], { input: commands.flat().join('\n'), encoding: 'utf8' });
  assert.equal(status === 0 ? '' : stderr, '');
});
