import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import { diagnose, unreachable } from '../../../../cli/checks/diagnose.ts';
import type { Finding } from '../../../../cli/checks/finding.ts';
import { anchorOf } from '../../../../scripts/site/addresses.ts';
import { CHANGES, type Change } from './changes.ts';
import { FACTS } from './facts.ts';
import { inOrder, type Loose, partsOf } from './in-order.ts';

const line = ({ level, check, page }: Finding) => [level, check, ...(page ? [page] : [])].join(' ');
const findingsOf = (survey: Loose) => diagnose(survey).sections.flatMap(({ findings }) => findings);

/** Findings in a healthy installation with a change. */
function changed(change: Change): Finding[] {
  const survey = inOrder();
  change(partsOf(survey));
  return findingsOf(survey);
}

/** Removes each line of a list once from another list. */
function without(lines: readonly string[], others: readonly string[]): string[] {
  const rest = [...others];
  return lines.filter((each) => {
    const index = rest.indexOf(each);
    if (index !== -1) rest.splice(index, 1);
    return index === -1;
  });
}

const HEALTHY = findingsOf(inOrder()).map(line);
const SCENARIOS = Object.entries(CHANGES).map(([what, change]) => ({ what, findings: changed(change) }));

/** Differences to the output for a healthy installation: new lines, and removed ones after `- `. */
function newsOf(findings: readonly Finding[]): string[] {
  const lines = findings.map(line);
  return [...without(lines, HEALTHY), ...without(HEALTHY, lines).map((each) => `- ${each}`)];
}

/** Expected lines by name of the change. */
const expected = new Map(
  readFileSync(path.join(import.meta.dirname, 'doctor.txt'), 'utf8')
    .trimEnd()
    .split('\n\n')
    .map((block): [string, string[]] => {
      const [title = '', ...lines] = block.split('\n');
      return [title.slice('# '.length), lines];
    }),
);

/** Checks that a page and its anchor exist. */
function assertPage(page: string): void {
  const [name = '', anchor] = page.split('#');
  const file = path.join(import.meta.dirname, '../../../../docs', name);
  assert.ok(existsSync(file), page);
  if (anchor === undefined) return;
  const headings = [...readFileSync(file, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
  assert.ok(headings.includes(anchor), page);
}

suite('kubectl stoker doctor', () => {
  test('reports that all is well in a healthy installation', () => {
    assert.deepEqual(HEALTHY, expected.get('a healthy installation'));
    const { totals, sections } = diagnose(inOrder() as Loose);
    assert.deepEqual(totals, { ok: HEALTHY.length, warning: 0, failed: 0 });
    const titles = ['Cluster', 'Operator', 'Injection', 'Permissions', 'Namespace plant', 'GatewaySync plant/line'];
    assert.deepEqual(
      sections.map(({ title }) => title),
      [...titles, 'Pod plant/till'],
    );
  });

  for (const { what, findings } of SCENARIOS)
    test(`reports exactly the expected findings for ${what}`, () =>
      assert.deepEqual(newsOf(findings), expected.get(what)));

  test('has exactly one test case for each entry of doctor.txt', () => {
    assert.deepEqual([...expected.keys()].slice(1), Object.keys(CHANGES));
  });

  for (const [what, facts] of Object.entries(FACTS))
    test(`names ${facts.join(' and ')} for ${what}`, () => {
      const problems = SCENARIOS.find((each) => each.what === what)?.findings.filter(({ level }) => level !== 'ok');
      const text = problems?.map(({ says, todo }) => `${says}\n${todo}`).join('\n') ?? '';
      for (const fact of facts) assert.ok(text.includes(fact), `${fact} is not in ${text}`);
    });

  test('adds a remedy and a page to each problem', () => {
    for (const { what, findings } of SCENARIOS)
      for (const { level, check, todo, page } of findings) {
        // No remedy is known for a reason of a newer controller.
        const hasRemedy = Boolean(todo) || check === 'conditions/Ready/constructor';
        assert.ok(level === 'ok' || (hasRemedy && page), `${what}: ${check}`);
      }
  });

  test('links only to pages and anchors that exist', () => {
    const pages = new Set(SCENARIOS.flatMap(({ findings }) => findings.flatMap(({ page }) => page ?? [])));
    for (const page of pages) assertPage(page);
  });

  test("reports nothing else about a cluster that can't be queried", () => {
    const { sections, totals } = unreachable('no route');
    assert.deepEqual(
      sections.map(({ title, findings }) => [title, ...findings.map(line)]),
      [['Cluster', 'failed cluster/reachable how-to/find-out-what-is-wrong.md']],
    );
    assert.equal(sections[0]?.findings[0]?.says, 'no route');
    assert.deepEqual(totals, { ok: 0, warning: 0, failed: 1 });
  });
});
