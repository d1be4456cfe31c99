import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { COMMANDS } from '../../../cli/commands/commands.ts';
import { generateCliReference } from '../../../scripts/generate/cli-reference.ts';
import { blocksOf, readPages } from '../../support/markdown.ts';
import { runCli } from '../../support/run-cli.ts';

/** All command lines of `kubectl stoker` on a page, in blocks or inline, without placeholders. */
async function linesOfPages(): Promise<{ file: string; line: string }[]> {
  const pages = await readPages();
  return pages.flatMap((page) => {
    const inBlocks = blocksOf(page).flatMap(({ code, language }) => [
      // In the text of the help, a sentence can go on with these words in the next line.
      ...code.matchAll(language === 'text' ? /^ {2}kubectl stoker (.+)$/gm : /^(?:\$ )?kubectl stoker (.+)$/gm),
    ]);
    const inline = [...page.text.matchAll(/`kubectl stoker ([^`\n]+)`/g)];
    return [...inBlocks, ...inline].map(([, line = '']) => ({ file: page.file, line: line.replace(/ [>|] .*$/, '') }));
  });
}

suite('command lines of kubectl stoker', () => {
  test('are valid in all pages and examples', async () => {
    const examples = COMMANDS.flatMap(({ name, examples }) => examples.map(({ line }) => ({ file: name, line })));
    const all = [...examples, ...(await linesOfPages())].filter(({ line }) => !/COMMAND|\[|…| --to$/.test(line));
    assert.ok(all.length > 25, `${all.length}`);
    for (const { file, line } of all) {
      const words = line.split(' ');
      const { args } = COMMANDS.find(({ name }) => name === words[0]) ?? {};
      if (args && !('kubeconfig' in args)) {
        // The file doesn't have to exist, but the command line has to be valid; a bare command name isn't checked.
        const { notes } = await runCli(words.length > 1 ? words : [...words, '--help']);
        assert.doesNotMatch(notes, /--help$/m, `${file}: kubectl stoker ${line}`);
        continue;
      }
      const isWhole = words.length > 1;
      // The kubeconfig is read only after the command line was parsed.
      const { status, notes } = await runCli([...words, ...(isWhole ? ['--kubeconfig', '/nowhere'] : ['--help'])]);
      assert.ok(status === 0 || status === 3, `${file}: kubectl stoker ${line}: ${notes}`);
    }
  });

  test('exit with 64 and a reason if they are invalid', async () => {
    const cases: [string[], RegExp][] = [
      [['statsu'], / statsu:/],
      [['status', '--namespaces=x'], / --namespaces:/],
      [['status', 'a', 'b'], / b:/],
      [['status', '--namespace'], / --namespace /],
      [['status', '-o', 'xml', '--kubeconfig', '/nowhere'], / --output .* xml\b/],
      [['rollback'], / NAME /],
      [['pause', '..', '-y'], / "\.\." .* GatewaySync:/],
      [['status', '-n', 'Plant'], / "Plant" .* namespace:/],
      [['--context', 'a'], / kubectl stoker --help$/m],
      [['version', 'status'], / status:/],
      [['help', 'status', 'doctor'], / doctor:/],
      [['pause', 'a', '--yes=no'], / --yes .* --yes=no:/],
      [['pause', 'a', '-y=false'], / -=:/],
      [['status', '-n='], / --namespace /],
    ];
    for (const [line, words] of cases) {
      const { status, output, notes } = await runCli(line);
      assert.deepEqual([status, output], [64, ''], line.join(' '));
      assert.match(notes, words);
      assert.equal(notes.split('\n').length, 2, notes);
    }
  });

  test('can have options before the command, like kubectl', async () => {
    const { status, notes } = await runCli(['-n', 'status', '--kubeconfig', '/nowhere', 'status', 'plant']);
    assert.equal(status, 3, notes);
  });

  test('have the same help text in the reference', async () => {
    for (const [file, content] of Object.entries(generateCliReference())) {
      const written = await readFile(path.join(import.meta.dirname, '../../..', file), 'utf8');
      assert.equal(content, written, `${file}: run npm run generate`);
    }
  });

  test('show help everywhere, at the width of the terminal', async () => {
    for (const line of [[], ['--help'], ['help'], ['help', 'status'], ['status', '-h'], ['rollback', '--help']]) {
      const { status, output } = await runCli(line, { columns: 60 });
      assert.equal(status, 0, line.join(' '));
      assert.match(output, /Usage:\n {2}kubectl stoker /);
    }
    for (const { name, details, summary, examples } of COMMANDS) {
      assert.ok(summary.length < 80 && details.length > 0 && examples.length > 0, name);
    }
  });
});
