import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import type { Diagnosis } from '../../../cli/checks/diagnose.ts';
import type { Finding } from '../../../cli/checks/finding.ts';
import { type ApiServer, startApiServer } from '../../../scripts/testbed/control-plane.ts';
import { installCrds } from '../../../scripts/testbed/install-crds.ts';
import { docsAt } from '../../../shared/docs-site.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { runCli } from '../../support/run-cli.ts';
import { untilPermitted } from '../../support/until-permitted.ts';
import { FAULTS, type Fault } from './doctor-faults.ts';
import { at, GATEWAYS, grant } from './doctor-objects.ts';
import { World } from './doctor-world.ts';

// A separate API server, because faults affect the whole cluster, and there are no CRDs at first.
let server: ApiServer;
let world: World;
before(async () => {
  server = await startApiServer();
  world = new World(server);
});
after(() => server.stop());

async function diagnose(...line: string[]): Promise<Diagnosis & { exit: number }> {
  const { output, notes, status } = await runCli(['doctor', '-o', 'json', '--kubeconfig', server.kubeconfig, ...line]);
  assert.equal(notes, '');
  return { ...(JSON.parse(output) as Diagnosis), exit: status };
}

const findingsOf = ({ sections }: Diagnosis) => sections.flatMap(({ findings }) => findings);

function assertFound(
  diagnosis: Diagnosis,
  { check, level = 'failed', text = '' }: Omit<Fault, 'name' | 'change'>,
): void {
  const problems = findingsOf(diagnosis).filter((finding) => finding.level !== 'ok');
  const found = problems.find((finding) => finding.check === check && finding.says.includes(text));
  assert.equal(found?.level, level, `${check} in ${JSON.stringify(problems, null, 1)}`);
  assert.ok(found.todo && found.page?.startsWith(docsAt('dev', '')), JSON.stringify(found));
}

async function grantView(): Promise<void> {
  const metadata = { name: 'viewer' };
  await world.add(corePath('serviceaccounts', GATEWAYS), { metadata });
  const rules = [{ apiGroups: ['sync.io'], resources: ['gatewaysyncs', 'syncreports'], verbs: ['get', 'list'] }];
  await world.add(at.roleBindings.replace('rolebindings', 'roles'), { metadata, rules });
  const account = { name: 'viewer', namespace: GATEWAYS };
  await world.add(at.roleBindings, { metadata, ...grant('Role', 'viewer', account) });
}

test("kubectl stoker reports in one line that the operator isn't installed", async () => {
  for (const line of [['status'], ['status', 'plant'], ['pause', 'plant', '--yes']]) {
    const { status, output, notes } = await runCli([...line, '--kubeconfig', server.kubeconfig]);
    assert.deepEqual([status, output], [3, ''], notes);
    assert.match(notes, /^error: .* CRDs .*\n$/);
  }
});

test('kubectl stoker doctor reports a cluster without the CRDs', async () => {
  const diagnosis = await diagnose('-n', 'default');
  assertFound(diagnosis, { check: 'crds/installed' });
  assert.equal(diagnosis.exit, 1);
});

suite('kubectl stoker doctor', () => {
  before(async () => {
    await installCrds(server);
    await world.build();
  });

  test('finds nothing in a healthy installation, and shows no value of a Secret', async () => {
    const diagnosis = await diagnose('-n', GATEWAYS);
    const problems = findingsOf(diagnosis).filter(({ level }) => level !== 'ok');
    assert.deepEqual(problems, []);
    assert.equal(diagnosis.exit, 0);
    assert.ok(diagnosis.sections.every(({ findings }) => findings.length > 0));
    const { output, status } = await runCli(['doctor', '-n', GATEWAYS, '--kubeconfig', server.kubeconfig]);
    assert.equal(status, 0);
    assert.match(output, /^Cluster\n✓ .*: Kubernetes v1/);
    assert.match(output, /All checks passed: \d+ ✓, 0 !, 0 ✗\n$/);
    assert.ok(!output.includes('hidden-value') && !JSON.stringify(diagnosis).includes('hidden-value'));
  });

  for (const fault of FAULTS) {
    test(`reports ${fault.name}`, async () => {
      const undo = await world.change(fault.change);
      try {
        const diagnosis = await diagnose('-n', GATEWAYS, ...(fault.line ?? []));
        assertFound(diagnosis, fault);
        assert.equal(diagnosis.exit, diagnosis.totals.failed > 0 ? 1 : 0);
      } finally {
        await undo();
      }
    });
  }

  test('shows a user with access to one namespace what it contains, and which checks need more', async () => {
    await grantView();
    const viewer = await server.kubeconfigFor({ namespace: GATEWAYS, serviceAccount: 'viewer' });
    await untilPermitted(viewer, gatewaySyncPath(GATEWAYS));
    const { output, status } = await runCli(['doctor', '-o', 'json', '--kubeconfig', viewer]);
    const findings = findingsOf(JSON.parse(output) as Diagnosis);
    assert.equal(status, 0, output);
    assert.ok(!findings.some(({ level }) => level === 'failed'), output);
    const isReady = ({ check, level }: Finding) => check === 'conditions/Ready' && level === 'ok';
    const hidden = findings.filter(({ says }) => says.startsWith('not allowed to read '));
    assert.ok(hidden.length >= 7, output);
    for (const { level, todo } of hidden) assert.ok(level === 'warning' && todo);
    assert.ok(findings.some(isReady));
    const everywhere = await runCli(['doctor', '-A', '-o', 'json', '--kubeconfig', viewer]);
    const seen = findingsOf(JSON.parse(everywhere.output) as Diagnosis);
    assert.equal(seen.find(({ check }) => check === 'cluster/gatewaysyncs')?.level, 'warning', everywhere.output);
    assert.ok(seen.some(isReady));
  });

  test("doesn't report success to a user who can't read GatewaySyncs", async () => {
    await world.add(corePath('serviceaccounts', GATEWAYS), { metadata: { name: 'stranger' } });
    const outsider = await server.kubeconfigFor({ namespace: GATEWAYS, serviceAccount: 'stranger' });
    for (const line of [[], ['--all-namespaces'], ['plant']]) {
      const { output, status } = await runCli(['doctor', '--kubeconfig', outsider, ...line]);
      assert.equal(status, 3, output);
      assert.match(output, /! .* GatewaySyncs in /);
    }
  });
});
