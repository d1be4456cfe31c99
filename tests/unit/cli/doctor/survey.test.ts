import assert from 'node:assert/strict';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { suite, type TestContext, test } from 'node:test';
import type { Diagnosis } from '../../../../cli/checks/diagnose.ts';
import { slow } from '../../../support/depth.ts';
import { startHttpHost } from '../../../support/http-host.ts';
import { kubeconfigWith } from '../../../support/kubeconfig-with.ts';
import { runCli } from '../../../support/run-cli.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const answerWith =
  (body: unknown, status = 200): Answer =>
  (_, response) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
const reset: Answer = ({ socket }) => socket.resetAndDestroy();
const silence: Answer = () => {};
const page: Answer = (_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end('<html>');

/** Runs doctor on a server with empty lists, except for the paths that match a pattern. */
async function examine(t: TestContext, faults: [RegExp, Answer][]) {
  const usual = (path: string) =>
    path === '/version' ? { gitVersion: 'v1.36.3' } : { items: [], versions: [], resources: [], metadata: {} };
  const url = await startHttpHost(t, (request, response) => {
    const path = new URL(request.url ?? '', 'http://x').pathname;
    const [, answer = answerWith(usual(path))] = faults.find(([pattern]) => pattern.test(path)) ?? [];
    answer(request, response);
  });
  const file = await kubeconfigWith(t, { server: url }, { token: 'x' });
  const timeout = faults.some(([, answer]) => answer === silence) ? '1s' : '10s';
  const line = ['doctor', '-o', 'json', '--kubeconfig', file, '--request-timeout', timeout];
  const { output, status, notes } = await runCli(line);
  const findings = (JSON.parse(output) as Diagnosis).sections.flatMap((section) => section.findings);
  const whole = findings.map(({ check, level, says }) => `${level} ${check} ${says}`).join('\n');
  return { status, notes, whole, checks: findings.map(({ check }) => check) };
}

const faults: Record<string, Answer> = {
  'a reset connection': reset,
  'a server that falls silent': silence,
  'an error of the server': answerWith({ message: 'etcd is gone' }, 500),
  'a page of a proxy': page,
};

suite('kubectl stoker doctor reads each part on its own', () => {
  const parts = [
    [/^\/version$/, 'cluster/version'],
    [/\/customresourcedefinitions$/, 'crds/established'],
    [/^\/apis\/sync.io$/, 'crds/served'],
    [/\/mutatingwebhookconfigurations$/, 'webhook/installed'],
    [/\/validatingadmissionpolicybindings$/, 'policies/bound'],
    [/\/clusterroles\//, 'rights/cluster-role'],
    [/\/clusterrolebindings$/, 'rights/receiver-bindings'],
    [/^\/apis\/apps\/v1\/deployments$/, 'operator/installed'],
    [/\/gateways\/gatewaysyncs$/, 'namespace/gatewaysyncs'],
    [/\/gateways\/pods$/, 'namespace/pods'],
    [/\/gateways\/events$/, 'namespace/denied'],
    [/\/gateways\/(deployments|daemonsets)$/, 'namespace/workloads'],
    [/\/gateways\/networkpolicies$/, 'namespace/network-policy'],
  ] as const;
  parts.forEach(([pattern, check], index) => {
    // All kinds of faults are handled in one place.
    const [what, answer] = Object.entries(faults)[index % Object.keys(faults).length] ?? assert.fail();
    test(`${what} for ${pattern.source} is a finding of this part`, slow, async (t) => {
      const served: [RegExp, Answer] = [/^\/apis\/sync.io$/, answerWith({ versions: [{ version: 'v1alpha1' }] })];
      const kinds = [{ name: 'gatewaysyncs' }, { name: 'syncreleases' }, { name: 'syncreports' }];
      const known: [RegExp, Answer] = [/^\/apis\/sync.io\/v1alpha1$/, answerWith({ resources: kinds })];
      const { whole, checks } = await examine(t, [[pattern, answer], served, known]);
      assert.match(whole, new RegExp(`^warning ${check} cannot read `, 'm'));
      assert.ok(!checks.includes('cluster/reachable') && !checks.includes('doctor/bug'), whole);
      assert.equal(whole.match(/cannot read/g)?.length, 1, whole);
    });
  });

  for (const [what, answer] of Object.entries(faults))
    test(`${what} for everything is an unreachable cluster`, async (t) => {
      const { status, checks } = await examine(t, [[/./, answer]]);
      assert.deepEqual([status, checks], [3, ['cluster/reachable']]);
    });

  test("a GatewaySync that can't be read as one leaves the Secrets of the others checked", async (t) => {
    const metadata = { namespace: 'gateways', creationTimestamp: '2026-01-01T00:00:00Z' };
    const older = { metadata: { ...metadata, name: 'older' }, spec: {} };
    const git = { repo: 'https://git.test/a.git', caSecretRef: { name: 'missing', key: 'ca' } };
    const usual = {
      metadata: { ...metadata, name: 'usual' },
      spec: { git, gateway: {}, sync: { defaults: {}, profiles: {} }, polling: { enabled: true }, webhook: {} },
    };
    const kinds = [{ name: 'gatewaysyncs' }, { name: 'syncreleases' }, { name: 'syncreports' }];
    const { whole, checks } = await examine(t, [
      [/^\/apis\/sync.io$/, answerWith({ versions: [{ version: 'v1alpha1' }] })],
      [/^\/apis\/sync.io\/v1alpha1$/, answerWith({ resources: kinds })],
      [/\/gateways\/gatewaysyncs$/, answerWith({ items: [older, usual], metadata: {} })],
      [/\/secrets\/missing$/, answerWith({}, 404)],
    ]);
    assert.ok(checks.includes('doctor/bug') && !checks.includes('cluster/reachable'), whole);
    assert.match(whole, /^failed gatewaysync\/secret the Secret gateways\/missing /m);
  });

  test('an object that breaks a check is a bug, and no other check is lost', async (t) => {
    const webhooks = [{ metadata: { name: 'x' }, webhooks: [{ name: 'inject.sync.io' }] }];
    const { status, checks } = await examine(t, [
      [/\/mutatingwebhookconfigurations$/, answerWith({ items: webhooks, metadata: {} })],
    ]);
    assert.equal(status, 1);
    assert.ok(checks.includes('doctor/bug') && checks.includes('cluster/version'), checks.join());
    assert.ok(!checks.includes('cluster/reachable'), checks.join());
  });
});
