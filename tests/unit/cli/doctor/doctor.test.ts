import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { diagnose, unreachable } from '../../../../cli/checks/diagnose.ts';
import type { Finding } from '../../../../cli/checks/finding.ts';
import { CHANGES, type Change } from './changes.ts';
import { inOrder, type Loose, partsOf } from './in-order.ts';

/** Without the line of the program that has a bug. */
const line = ({ level, check, says, todo, page }: Finding) =>
  [
    `${level} ${check}: ${says.replace(/ at [-\w]+\.ts:\d+:\d+(?=\))/, '')}`,
    ...(todo ? [todo] : []),
    ...(page ? [page] : []),
  ].join(' | ');
const linesOf = (survey: Loose) => diagnose(survey).sections.flatMap(({ findings }) => findings.map(line));

/** Differences to the output for a healthy installation: new lines, and removed ones after `- `. */
function newsOf(change: Change): string[] {
  const survey = inOrder();
  change(partsOf(survey));
  const before = linesOf(inOrder());
  const after = linesOf(survey);
  const added = after.filter((each) => !before.includes(each));
  const removed = before.filter((each) => !after.includes(each));
  return [...added, ...removed.map((each) => `- ${each}`)];
}

/** Expected lines by name of the change. */
const expected = new Map(
  readFileSync(path.join(import.meta.dirname, 'doctor.txt'), 'utf8')
    .trimEnd()
    .split('\n\n')
    .map((block): [string, string[]] => {
      const [title = '', ...said] = block.split('\n');
      return [title.slice('# '.length), said];
    }),
);

suite('kubectl stoker doctor', () => {
  test('reports that all is well in a healthy installation', () => {
    const said = linesOf(inOrder());
    assert.deepEqual(said, expected.get('a healthy installation'));
    const { totals, sections } = diagnose(inOrder() as Loose);
    assert.deepEqual(totals, { ok: said.length, warning: 0, failed: 0 });
    const titles = ['Cluster', 'Operator', 'Injection', 'Permissions', 'Namespace plant', 'GatewaySync plant/line'];
    assert.deepEqual(
      sections.map(({ title }) => title),
      [...titles, 'Pod plant/till'],
    );
  });

  for (const [what, change] of Object.entries(CHANGES))
    test(`reports exactly the expected findings for ${what}`, () =>
      assert.deepEqual(newsOf(change), expected.get(what)));

  test('has exactly one test case for each entry of doctor.txt', () => {
    assert.deepEqual([...expected.keys()].slice(1), Object.keys(CHANGES));
  });

  test("reports nothing else about a cluster that can't be queried", () => {
    const { sections, totals } = unreachable('no route');
    const says =
      'failed cluster/reachable: no route | check the kubeconfig: kubectl cluster-info | how-to/find-out-what-is-wrong.md';
    assert.deepEqual(
      sections.map(({ title, findings }) => [title, ...findings.map(line)]),
      [['Cluster', says]],
    );
    assert.deepEqual(totals, { ok: 0, warning: 0, failed: 1 });
  });
});
