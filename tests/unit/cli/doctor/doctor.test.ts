import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { suite, test } from 'node:test';
import type { V1LabelSelector } from '@kubernetes/client-node';
import { diagnose, unreachable } from '../../../../cli/checks/diagnose.ts';
import type { Finding } from '../../../../cli/checks/finding.ts';
import { fits } from '../../../../cli/checks/objects.ts';
import { anchorOf } from '../../../../scripts/site/addresses.ts';
import { CHANGES, type Change } from './changes.ts';
import { FACTS } from './facts.ts';
import { inOrder, type Loose, partsOf, seen } from './in-order.ts';

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

const HEALTHY = findingsOf(inOrder());
/** Findings are made in tests, so that `npm run mutants` sees which test notices a change. */
const SCENARIOS = Object.entries(CHANGES).map(([what, [expected, change]]) => {
  return { what, expected, find: () => changed(change) };
});

/** Differences to the findings in a healthy installation. A problem usually replaces a success of the same check. */
function newsOf(findings: readonly Finding[]): string {
  const added = without(findings.map(line), HEALTHY.map(line));
  const problems = added.map((each) => each.split(' ')).flatMap(([level, check = '']) => (level === 'ok' ? [] : check));
  const gone = without(HEALTHY.map(line), findings.map(line)).map((each) => each.replace('ok ', ''));
  const missing = without(gone, problems);
  const isHealthy = (check: string) => HEALTHY.some((each) => each.check === check);
  const still = new Set(problems.filter((check) => isHealthy(check) && !gone.includes(check)));
  const counted = [...new Set(added)].map((each) => {
    const count = added.filter((other) => other === each).length;
    return count > 1 ? `${count} × ${each}` : each;
  });
  return (
    [
      ...counted,
      ...(missing.length > 0 ? [`without ${missing.join(' ')}`] : []),
      ...(still.size > 0 ? [`besides ok ${[...still].join(' ')}`] : []),
    ].join(', ') || 'nothing'
  );
}

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
    assert.ok(HEALTHY.every(({ level }) => level === 'ok'));
    const { totals, sections } = diagnose(inOrder() as Loose);
    assert.deepEqual(totals, { ok: HEALTHY.length, warning: 0, failed: 0 });
    assert.deepEqual(
      sections.map(({ title, findings }) => `${title}: ${findings.map(({ check }) => check).join(' ')}`),
      [
        'Cluster: cluster/version crds/installed',
        'Operator: controller/ready operator/leader receiver/secret receiver/secret receiver/ready receiver/service',
        'Injection: webhook/ca-bundle webhook/certificate webhook/rules webhook/endpoint',
        'Permissions: rights/cluster-role policies/installed',
        'Namespace plant: namespace/watched namespace/injection namespace/role-binding',
        'GatewaySync plant/line: conditions/Ready gatewaysync/secret',
        'Pod plant/till: pod/sidecar pod/ready report/synced',
      ],
    );
  });

  for (const { what, expected, find } of SCENARIOS)
    test(`reports exactly the expected findings for ${what}`, () => assert.equal(newsOf(find()), expected));

  for (const [what, facts] of Object.entries(FACTS))
    test(`names ${facts.join(' and ')} for ${what}`, () => {
      const problems = SCENARIOS.find((each) => each.what === what)
        ?.find()
        .filter(({ level }) => level !== 'ok');
      const text = problems?.map(({ says, todo }) => `${says}\n${todo}`).join('\n') ?? '';
      for (const fact of facts) assert.ok(text.includes(fact), `${fact} is not in ${text}`);
    });

  test('adds a remedy and a page to each problem', () => {
    for (const { what, find } of SCENARIOS)
      for (const { level, check, todo, page } of find()) {
        // No remedy is known for a reason of a newer controller.
        const hasRemedy = Boolean(todo) || check === 'conditions/Ready/constructor';
        assert.ok(level === 'ok' || (hasRemedy && page), `${what}: ${check}`);
      }
  });

  test('links only to pages and anchors that exist', () => {
    const pages = new Set(SCENARIOS.flatMap(({ find }) => find().flatMap(({ page }) => page ?? [])));
    for (const page of pages) assertPage(page);
  });

  test('combines many healthy gateways, and lists the others', () => {
    const findings = changed(({ namespace, pod, report }) => {
      const names = Array.from({ length: 1000 }, (_, index) => `till-${index}`);
      const named = (each: Loose, name: string) => ({ ...each, metadata: { ...each.metadata, name } });
      namespace.pods = seen(names.map((name) => named(pod, name)));
      namespace.reports = seen(names.slice(1).map((name) => named(report, name)));
    });
    const saysOf = (check: string) => findings.filter((each) => each.check === check).map(({ says }) => says);
    assert.match(saysOf('pods/fine').join(), /^999 gateways/);
    assert.deepEqual([saysOf('report/there').length, saysOf('report/synced').length], [1, 0]);
  });

  test('suggests only the log of a container that explains the problem', () => {
    const todoWith = (status: object) =>
      changed(({ pod }) => {
        pod.status = {
          phase: 'Running',
          conditions: [{ type: 'Ready', status: 'False', message: 'unready' }],
          ...status,
        };
      }).find(({ check }) => check === 'pod/ready')?.todo;
    const running = (name: string) => ({ name, ready: true, state: { running: {} } });
    const waits = (name: string) => ({ name, ready: false, state: { waiting: { reason: 'PodInitializing' } } });
    const gated = { initContainerStatuses: [running('sync-agent')], containerStatuses: [running('gateway')] };
    assert.doesNotMatch(todoWith(gated) ?? 'kubectl logs', /kubectl logs/);
    const starting = {
      initContainerStatuses: [{ ...running('migrate'), ready: false }, waits('sync-agent')],
      containerStatuses: [waits('gateway')],
    };
    assert.match(todoWith(starting) ?? '', /kubectl logs till -c migrate/);
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

test('selectors match labels like in Kubernetes', () => {
  const labels = { a: '1', b: '2' };
  const rows: [V1LabelSelector, boolean][] = [
    [{}, true],
    [{ matchLabels: { a: '1' } }, true],
    [{ matchLabels: { a: '2' } }, false],
    [{ matchExpressions: [{ key: 'a', operator: 'In', values: ['1', '2'] }] }, true],
    [{ matchExpressions: [{ key: 'c', operator: 'In', values: ['1'] }] }, false],
    [{ matchExpressions: [{ key: 'c', operator: 'NotIn', values: ['1'] }] }, true],
    [{ matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] }, false],
    [{ matchExpressions: [{ key: 'b', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'b', operator: 'DoesNotExist' }] }, false],
    [{ matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, false],
  ];
  for (const [selector, expected] of rows) assert.equal(fits(selector, labels), expected, JSON.stringify(selector));
});
