import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { sample, slow } from '../support/depth.ts';
import { chart, helm } from './support/render.ts';
import { listDocumentedValues } from './support/values.ts';

const text = await readFile(path.join(chart, 'values.yaml'), 'utf8');
const values = parse(text);
const schema = JSON.parse(await readFile(path.join(chart, 'values.schema.json'), 'utf8'));

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the leaves of a tree of values by their dotted path; an empty object is a leaf. */
function leavesOf(value: unknown, at = ''): [string, unknown][] {
  if (!isObject(value) || Object.keys(value).length === 0) return [[at, value]];
  return Object.entries(value).flatMap(([key, below]) => leavesOf(below, at ? `${at}.${key}` : key));
}

test('every value has a comment that describes it, and so a row in the README', async () => {
  const documented = await listDocumentedValues();
  const undocumented = leavesOf(values).filter(
    ([name]) => !documented.some((row) => name === row || name.startsWith(`${row}.`)),
  );
  assert.deepEqual(undocumented, []);
  for (const [, meaning = ''] of text.matchAll(/^ *# -- (.*)$/gm)) assert.match(meaning, /^[A-Z`].*\.$/);
});

/** Follows `$ref` to the definition. */
const resolve = (node: { $ref?: string }) => (node.$ref ? schema.$defs[node.$ref.split('/').at(-1) ?? ''] : node);

test('the schema contains exactly the values in values.yaml', () => {
  function compare(node: Record<string, never>, value: unknown, at: string): void {
    const { properties, additionalProperties } = resolve(node);
    if (!properties) return;
    assert.equal(additionalProperties, false, `${at || 'the root'} accepts unknown keys`);
    const known = Object.keys(properties).filter(
      (key) => key !== 'global' && key !== 'claims' && (at || key !== 'enabled'),
    );
    assert.deepEqual(known.sort(), Object.keys(value as object).sort(), at);
    for (const key of known) compare(properties[key], (value as Record<string, unknown>)[key], `${at}.${key}`);
  }
  compare(schema, values, '');
});

/** A host of the Ingress. */
const host = 'webhookReceiver.ingress.hosts[0]';
const hostFlags = [`${host}.host=a.test`, `${host}.paths[0].path=/webhook`, `${host}.paths[0].pathType=Prefix`];

/** Flags that make the receiver available outside of the cluster, by the value that does. */
const exposures = {
  'webhookReceiver.ingress.enabled': `webhookReceiver.ingress.enabled=true,${hostFlags.join()}`,
  'webhookReceiver.httpRoute.enabled':
    'webhookReceiver.httpRoute.enabled=true,webhookReceiver.httpRoute.parentRefs[0].name=x',
  'webhookReceiver.service.type': 'webhookReceiver.service.type=NodePort',
};
const scaled = 'webhookReceiver.autoscaling.enabled=true';

/** Mistakes in values, and what a message has to name, next to an invalid value. */
const mistakes: Record<string, string> = {
  'unknown=1': "additional properties 'unknown' not allowed",
  'webhookReceiver.hmac.secretref.name=x': "at '/webhookReceiver/hmac': additional properties 'secretref'",
  'agent.resources.limit.cpu=1': "at '/agent/resources': additional properties 'limit'",
  'webhook.failurePolicy=ignore': "at '/webhook/failurePolicy'",
  'webhookReceiver.port=http': "at '/webhookReceiver/port'",
  'webhookReceiver.terminationGracePeriodSeconds=5': "at '/webhookReceiver/terminationGracePeriodSeconds'",
  'webhook.timeoutSeconds=60': "at '/webhook/timeoutSeconds'",
  'extraVolumeMounts[0].name=x': "at '/extraVolumeMounts/0': missing property 'mountPath'",
  'serviceAccount.create=false': 'set serviceAccount.name',
  'fullnameOverride=My_Op': 'fullnameOverride',
  'nameOverride=op.': 'nameOverride',
  'namespaceOverride=My_Ns': 'namespaceOverride',
  'serviceMonitor.namespace=a.b': 'serviceMonitor.namespace',
  'controller.watchNamespaces={ok,Team_A}': 'controller.watchNamespaces[1]',
  'image.repository=ghcr.io/x/controller:1.2': 'image.repository',
  'agentImage.repository=https://ghcr.io/x/agent': 'agentImage.repository',
  'image.registry=https://registry.example.com': 'image.registry',
  'image.tag=sha256:abc': 'image.tag',
  'image.digest=sha256:abc': 'image.digest',
  'agent.resources.limits.memory=256MB': 'agent.resources.limits.memory',
  'resources.requests.cpu=': 'resources.requests.cpu',
  'webhookReceiver.serviceAccount.name=My Account': 'webhookReceiver.serviceAccount.name',
  'agent.caConfigMap.name=a-': 'agent.caConfigMap.name',
  'agent.caConfigMap.key=a/b': 'agent.caConfigMap.key',
  'webhookReceiver.hmac.secretRef.key=..': 'webhookReceiver.hmac.secretRef.key',
  'clusterName=a b': 'clusterName',
  'podDisruptionBudget.maxUnavailable=half': 'podDisruptionBudget.maxUnavailable',
  'webhookReceiver.podDisruptionBudget.minAvailable=200%': 'webhookReceiver.podDisruptionBudget.minAvailable',
  'webhookReceiver.trustedProxyHops=one': 'webhookReceiver.trustedProxyHops',
  'webhookReceiver.service.port=http': 'webhookReceiver.service.port',
  'certManager.duration=90d': 'certManager.duration',
  'podMonitor.interval=1minute': 'podMonitor.interval',
  'prometheusRule.approvalWithin=1hour': 'prometheusRule.approvalWithin',
  'controller.git.deniedNetworks={fd00::/8,10.0.0.0/33}': 'controller.git.deniedNetworks[1]',
  'controller.git.deniedNetworks={1:2:3/64}': 'controller.git.deniedNetworks[0]',
  'webhookReceiver.service.loadBalancerSourceRanges={10.0.0.300/8}': 'service.loadBalancerSourceRanges[0]',
  'webhookReceiver.port=8080': 'webhookReceiver.port must not be 8080',
  'webhook.port=8443': 'webhook.port must not be 8443',
  'controller.healthPort=9443': 'webhook.port must not be 9443',
  'metrics.port=8081': 'controller.healthPort and metrics.port are both 8081',
  'hostNetwork=true,networkPolicy.enabled=true': 'set networkPolicy.enabled=false',
  'serviceMonitor.enabled=true,metrics.enabled=false': 'set metrics.enabled=true',
  'webhookReceiver.enabled=true,webhookReceiver.httpRoute.enabled=true': 'webhookReceiver.httpRoute.parentRefs',
  'webhookReceiver.enabled=true,webhookReceiver.hmac.secret=x,webhookReceiver.ingress.enabled=true':
    'webhookReceiver.ingress.hosts is empty',
  ...Object.fromEntries(
    Object.entries(exposures).map(([value, flags]) => [`webhookReceiver.enabled=true,${flags}`, `: ${value} is `]),
  ),
  'prometheusRule.enabled=true,prometheusRule.disabled.SyncDrift=true': 'prometheusRule.disabled contains SyncDrift',
  [`${scaled},webhookReceiver.autoscaling.minReplicas=99`]: 'webhookReceiver.autoscaling.minReplicas (99)',
  [scaled]: 'webhookReceiver.resources.requests.cpu is 10m',
  [`${scaled},webhookReceiver.resources=null`]: 'webhookReceiver.resources.requests.cpu is missing',
  [`${scaled},webhookReceiver.resources.requests.cpu=0.01`]: 'webhookReceiver.resources.requests.cpu is 0.01',
  'extraVolumes[0].name=tmp,extraVolumes[0].emptyDir.medium=Memory': 'extraVolumes must not set tmp',
  'extraVolumeMounts[0].name=x,extraVolumeMounts[0].mountPath=/tmp': 'extraVolumeMounts must not set /tmp',
  'extraEnv[0].name=LOG_LEVEL,extraEnv[0].value=debug': 'extraEnv must not set LOG_LEVEL',
};

/** Maps that only null can empty, because helm merges other values into them. */
const emptied = /(^|\.)(resources|podSecurityContext|securityContext)$/;
const isEmpty = (value: unknown) =>
  value === '' || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);
/** Optional values, for which null equals the default. */
const optional = leavesOf(values).filter(([, value]) => isEmpty(value));
/** Parts that are disabled by default and have no effect then. */
const parts = leavesOf(values).flatMap(([name, value]) => (/\.enabled$/.test(name) && value === false ? [name] : []));
const allParts = parts.filter((name) => name !== 'webhookReceiver.httpRoute.enabled').map((name) => `${name}=true`);
const whole = [...allParts, ...hostFlags, 'webhookReceiver.resources.requests.cpu=1', 'webhookReceiver.hmac.secret=x'];

for (const [which, flags] of Object.entries({ 'as it is': [], 'with all of its parts': whole })) {
  test(`null is the same as an empty default, in the chart ${which}`, async () => {
    const needed = ['webhookReceiver.hmac.secret', 'webhookReceiver.ingress.hosts'];
    const nulls = optional.flatMap(([name]) => (needed.includes(name) ? [] : [`${name}=null`]));
    const render = (...more: string[]) => helm('template', chart, '--set', [...flags, ...more].join());
    assert.ok(nulls.length > 80, `${nulls}`);
    assert.equal(await render(...nulls), await render('replicaCount=1'));
  });
}

test('null removes maps and lists that have defaults', async () => {
  const names = leavesOf(values).flatMap(([name]) => {
    const path = name.split('.');
    const map = path.map((_, index) => path.slice(0, index + 1).join('.')).find((at) => emptied.test(at));
    return map ? [map] : [];
  });
  const flags = [...new Set(names)].map((name) => `${name}=null`);
  const lists = leavesOf(values).filter(([, value]) => Array.isArray(value) && value.length > 0 && value[0] !== 'ALL');
  flags.push(...lists.map(([name]) => `${name}=null`));
  assert.equal(flags.length, 7 + 3, `${flags}`);
  const all = [...flags, 'webhookReceiver.enabled=true', 'networkPolicy.enabled=true'].join();
  assert.doesNotMatch(await helm('template', chart, '--set', all), /nil|runAsNonRoot|cpu: |ScheduleAnyway|^ {6}from:/m);
});

test('the schema requires all other values, with an error that names the missing one', async () => {
  function check(node: Record<string, never>, value: unknown, at: string): void {
    const { properties, required = [] } = resolve(node) as { properties?: never; required?: string[] };
    if (!properties || !isObject(value) || emptied.test(at)) return;
    for (const [key, own] of Object.entries(value)) {
      const name = at ? `${at}.${key}` : key;
      const mayBeEmpty = isEmpty(own) || Array.isArray(own) || emptied.test(name);
      assert.equal(required.includes(key), !mayBeEmpty, name);
      check(properties[key], own, name);
    }
  }
  check(schema, values, '');
  await assert.rejects(helm('template', chart, '--set', 'webhookReceiver.maxAuthFailuresPerMinute=null'), (error) => {
    assert.match(String(error), /at '\/webhookReceiver': missing property 'maxAuthFailuresPerMinute'/);
    return true;
  });
});

test(
  'a receiver behind an authenticating proxy, or with a secret, or inside the cluster, can be exposed',
  slow,
  async () => {
    const means = ['allowUnauthenticated=true', 'hmac.secret=x', 'token.secretRef.name=x'];
    for (const flags of Object.values(exposures)) {
      await helm('template', chart, '--set', flags);
      for (const each of means)
        await helm('template', chart, '--set', `webhookReceiver.enabled=true,${flags},webhookReceiver.${each}`);
    }
    await helm('template', chart, '--set', 'webhookReceiver.enabled=true');
  },
);

test('a resource quantity can be a number of any size, and an umbrella chart can have a condition', async () => {
  const quantities =
    'agent.resources.limits.memory=268435456,resources.limits.memory=134217728,resources.limits.cpu=0.5';
  const umbrella = 'enabled=true,global.imageRegistry=x';
  assert.match(await helm('template', chart, '--set', `${quantities},${umbrella}`), /"memory":268435456/);
});

for (const [flags, named] of sample(Object.entries(mistakes))) {
  test(`helm rejects --set ${flags} with a message that names the value`, async () => {
    await assert.rejects(helm('template', chart, '--set', flags), ({ message }: Error) => {
      assert.ok(message.replaceAll('\n', ' ').includes(named), message);
      return true;
    });
  });
}

for (const release of sample(['my.rel', '9rel'])) {
  test(`helm rejects the release name ${release}, because no object name can begin with it`, async () => {
    await assert.rejects(
      helm('template', release, chart),
      /set fullnameOverride, or change the release name|release name/,
    );
  });
}

test('a truncated name ends with a letter or a digit', async () => {
  const rendered = await helm('template', `${'a'.repeat(44)}--bcdefg`, chart);
  assert.match(rendered, /name: "?a{44}"?$/m);
});

test("a receiver that shares the controller's service account is rejected", async () => {
  const shared = '--set=webhookReceiver.enabled=true,webhookReceiver.serviceAccount.name=test-stoker-operator';
  await assert.rejects(helm('template', 'test', chart, shared), /must not be the service account of the controller/);
});
