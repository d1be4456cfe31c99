import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test } from 'node:test';
import { COMMANDS } from '../../../cli/commands/commands.ts';
import { completedWord } from '../../../cli/program/completed-word.ts';
import { runCli } from '../../support/run-cli.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';

/** Runs `kubectl_complete-stoker` for a command line whose last word is being typed. */
async function completionsOf(line: string, host: Parameters<typeof runCli>[1] = {}) {
  const { status, output, notes } = await runCli(['__complete', ...line.split(' ')], host);
  assert.deepEqual([status, notes], [0, '']);
  const [directive, ...candidates] = output.trimEnd().split('\n').reverse();
  return { directive, candidates: candidates.reverse().map((candidate) => candidate.split('\t')[0]) };
}

const listed = async (line: string) => {
  const { directive, candidates } = await completionsOf(line);
  assert.equal(directive, ':4', line);
  return candidates;
};

suite('kubectl stoker completes', () => {
  test('commands, also after the options that may come first', async () => {
    const all = COMMANDS.map(({ name }) => name);
    for (const line of ['', '-n plants ', '--namespace=plants ', 'help '])
      assert.deepEqual(await listed(line), all, line);
    assert.deepEqual(await listed('re'), ['resume', 'retry']);
    assert.deepEqual(await listed('help status '), []);
    assert.deepEqual(await listed('statsu '), []);
  });

  test('options of the command that are not there yet', async () => {
    assert.deepEqual(await listed('drift --p'), ['--patch']);
    assert.deepEqual(await listed('ui --no'), ['--no-open']);
    assert.deepEqual(await listed('migrate --'), ['--file', '--repo', '--ref', '--path', '--help']);
    assert.deepEqual(await listed('migrate -f x --repo=y --'), ['--ref', '--path', '--help']);
  });

  test('values of options and arguments', async () => {
    for (const line of ['status -o ', 'status --output ', 'status --output=', '-o '])
      assert.deepEqual(await listed(line), ['json', 'yaml'], line);
    assert.deepEqual(await listed('status -o=y'), ['yaml']);
    assert.deepEqual(await listed('completion '), ['bash', 'zsh', 'fish']);
    assert.deepEqual(await listed('sync plant --timeout '), []);
    assert.deepEqual(await completionsOf('migrate -f '), { directive: ':0', candidates: [] });
  });

  test('names in the cluster that the line is about', () => {
    assert.deepEqual(completedWord('-n=plants rollback --context east plant --to '.split(' ')), {
      kind: 'value',
      key: 'to',
      given: { namespace: 'plants', context: 'east', name: 'plant' },
    });
    assert.deepEqual(completedWord(['rollback', '-y', '']), { kind: 'value', key: 'name', given: { yes: '' } });
  });

  test('contexts, without those that a shell would run', async (t) => {
    const kubeconfig = path.join(await temporaryDirectory(t, 'contexts-'), 'config');
    const names = ['east', 'arn:aws:eks:eu-west-1:1:cluster/west', '$(reboot)', 'a;b', '`id`'];
    const contexts = names.map((name) => ({ name, context: { cluster: 'c', user: 'u' } }));
    await writeFile(kubeconfig, JSON.stringify({ contexts }));
    const { candidates } = await completionsOf('status --context ', { kubeconfigs: kubeconfig });
    assert.deepEqual(candidates, ['east', 'arn:aws:eks:eu-west-1:1:cluster/west']);
    assert.deepEqual(await listed('status --kubeconfig /nowhere --context '), []);
  });
});

test('kubectl stoker completion asks for one of three shells, and for the file that it needs', async () => {
  const wrong = await runCli(['completion', 'powershell']);
  assert.equal(wrong.status, 64);
  assert.match(wrong.notes, /bash, zsh, or fish/);
  const { status, notes } = await runCli(['completion', 'bash'], { program: '/nowhere/kubectl-stoker' });
  assert.equal(status, 1);
  assert.match(notes, /kubectl_complete-stoker .* \/nowhere: /);
});
