import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { sample, slow } from '../support/depth.ts';
import { chart, helm } from './support/render.ts';
import { listDocumentedValues } from './support/values.ts';

/** Every value that is promised, with its default. The repositories of images are checked apart. */
const promised: Record<string, unknown> = {
  replicaCount: 1,
  'image.tag': '',
  'image.pullPolicy': 'IfNotPresent',
  imagePullSecrets: [],
  nameOverride: '',
  fullnameOverride: '',
  'agentImage.tag': '',
  'leaderElection.enabled': true,
  'resources.requests.cpu': '10m',
  'resources.requests.memory': '64Mi',
  'resources.limits.cpu': '500m',
  'resources.limits.memory': '128Mi',
  nodeSelector: {},
  tolerations: [],
  podAnnotations: {},
  podLabels: {},
  affinity: {},
  priorityClassName: '',
  'controller.logDevMode': 'false',
  'certManager.enabled': true,
  'metrics.enabled': true,
  'metrics.service.type': 'ClusterIP',
  'metrics.service.port': 8443,
  'serviceMonitor.enabled': false,
  'serviceMonitor.labels': {},
  'serviceMonitor.interval': '',
  'serviceMonitor.scrapeTimeout': '',
  'podMonitor.enabled': false,
  'podMonitor.labels': {},
  'podMonitor.interval': '',
  'podMonitor.scrapeTimeout': '',
  'prometheusRule.enabled': false,
  'prometheusRule.labels': {},
  'prometheusRule.approvalWithin': '1h',
  'prometheusRule.additionalRules': [],
  'grafanaDashboard.enabled': false,
  'grafanaDashboard.namespace': '',
  'grafanaDashboard.labels': {},
  'grafanaDashboard.annotations': {},
  'networkPolicy.enabled': false,
  'webhook.enabled': true,
  'webhook.port': 9443,
  'webhook.namespaceSelector.requireLabel': false,
  'rbac.autoBindAgent.enabled': true,
  'rollout.approverRole.enabled': false,
  'webhookReceiver.enabled': false,
  'webhookReceiver.port': 9444,
  'webhookReceiver.hmac.secret': '',
  'webhookReceiver.hmac.secretRef.name': '',
  'webhookReceiver.hmac.secretRef.key': 'webhook-secret',
  'webhookReceiver.token.secret': '',
  'webhookReceiver.token.secretRef.name': '',
  'webhookReceiver.token.secretRef.key': 'webhook-token',
  'webhookReceiver.ingress.enabled': false,
  'webhookReceiver.ingress.ingressClassName': '',
  'webhookReceiver.ingress.annotations': {},
  'webhookReceiver.ingress.hosts': [],
  'webhookReceiver.ingress.tls': [],
};

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

test('every promised value exists with its default', () => {
  const actual = Object.fromEntries(leavesOf(values));
  for (const [name, value] of Object.entries(promised)) assert.deepEqual(actual[name], value, name);
  for (const name of ['image.repository', 'agentImage.repository']) assert.match(String(actual[name]), /^[\w./-]+$/);
});

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

/** Flags that make the receiver available outside of the cluster, and the words for them in a message. */
const exposures = [
  [`webhookReceiver.ingress.enabled=true,${hostFlags.join()}`, 'ingress\\.enabled is true'],
  [
    'webhookReceiver.httpRoute.enabled=true,webhookReceiver.httpRoute.parentRefs[0].name=x',
    'httpRoute\\.enabled is true',
  ],
  ['webhookReceiver.service.type=LoadBalancer', 'service\\.type is LoadBalancer'],
  ['webhookReceiver.service.type=NodePort', 'service\\.type is NodePort'],
] as const;

/** Mistakes in values, and the messages that report them. */
const mistakes = {
  'unknown=1': /additional properties 'unknown' not allowed/,
  'webhookReceiver.hmac.secretref.name=x':
    /at '\/webhookReceiver\/hmac': additional properties 'secretref' not allowed/,
  'image.tags=1': /at '\/image': additional properties 'tags' not allowed/,
  'resources.limit.cpu=1': /at '\/resources': additional properties 'limit' not allowed/,
  'webhook.failurePolicy=ignore': /at '\/webhook\/failurePolicy': value must be one of 'Ignore', 'Fail'/,
  'webhookReceiver.port=http': /at '\/webhookReceiver\/port': .*got string, want integer/,
  'webhookReceiver.terminationGracePeriodSeconds=5':
    /at '\/webhookReceiver\/terminationGracePeriodSeconds': minimum: got 5, want 20/,
  'serviceAccount.create=false': /serviceAccount.create is false; set serviceAccount.name/,
  'webhookReceiver.port=8080': /webhookReceiver.port must not be 8080, because the receiver serves metrics on 8080/,
  'webhook.port=8443': /webhook.port must not be 8443, because the controller serves .* metrics on 8443/,
  'fullnameOverride=My_Op': /fullnameOverride must be a name of at most 63 lower-case letters, .*, but it is "My_Op"/,
  'nameOverride=op.': /nameOverride must be a name of at most 63 lower-case letters, .*, but it is "op\."/,
  'namespaceOverride=My_Ns': /namespaceOverride must be the name of a namespace, .*, but it is "My_Ns"/,
  'serviceMonitor.namespace=a.b': /serviceMonitor\.namespace must be the name of a namespace, .*, but it is "a\.b"/,
  'controller.watchNamespaces={ok,Team_A}':
    /controller\.watchNamespaces\[1\] must be the name of a namespace, .*, but it is "Team_A"/,
  'image.digest=sha256:abc': /image\.digest must be sha256: and 64 digits .*, but it is "sha256:abc"/,
  'image.registry=https://registry.example.com':
    /image\.registry must be a host such as registry\.example\.com, without https:\/\//,
  'certManager.duration=90d': /certManager\.duration must be a duration such as 30s, 90m, or 2160h, but it is "90d"/,
  'podMonitor.interval=1minute': /podMonitor\.interval must be a duration such as 30s, .*, but it is "1minute"/,
  'prometheusRule.approvalWithin=1hour': /prometheusRule\.approvalWithin must be a duration such as 90m, 1h, or 2d/,
  'controller.git.deniedNetworks={fd00::/8,10.0.0.0/33}':
    /controller\.git\.deniedNetworks\[1\] must be a network such as 10\.0\.0\.0\/8 or fd00::\/8, but it is "10\.0\.0\.0\/33"/,
  'webhookReceiver.service.loadBalancerSourceRanges={10.0.0.300/8}':
    /loadBalancerSourceRanges\[0\] must be a network such as/,
  'controller.healthPort=9443': /webhook\.port must not be 9443, because the controller serves health on 9443/,
  'metrics.port=8081': /controller\.healthPort and metrics\.port are both 8081/,
  'hostNetwork=true,networkPolicy.enabled=true': /networkPolicy\.enabled has no effect with hostNetwork/,
  'serviceMonitor.enabled=true,metrics.enabled=false':
    /serviceMonitor\.enabled requires metrics; set metrics\.enabled=true/,
  'webhookReceiver.enabled=true,webhookReceiver.httpRoute.enabled=true':
    /webhookReceiver\.httpRoute\.parentRefs is empty; set it to your Gateway/,
  'webhookReceiver.enabled=true,webhookReceiver.hmac.secret=x,webhookReceiver.ingress.enabled=true':
    /: webhookReceiver\.ingress\.enabled is true, but webhookReceiver\.ingress\.hosts is empty; set it to your host, /,
  ...Object.fromEntries(
    exposures.map(([flags, words]) => [
      `webhookReceiver.enabled=true,${flags}`,
      new RegExp(
        `: webhookReceiver\\.${words}, but the receiver accepts requests without a signature or token; set webhookReceiver\\.hmac\\.secretRef\\.name or webhookReceiver\\.token\\.secretRef\\.name to the name of a Secret, or webhookReceiver\\.allowUnauthenticated=true `,
      ),
    ]),
  ),
  'prometheusRule.enabled=true,prometheusRule.disabled.SyncDrift=true':
    /prometheusRule\.disabled contains SyncDrift, which isn't an alert of the chart; the alerts are SyncControllerHasNoLeader, /,
  'webhook.timeoutSeconds=60': /at '\/webhook\/timeoutSeconds': maximum: got 60, want 30/,
  'agent.logLevel=loud': /at '\/agent\/logLevel': value must be one of 'trace', 'debug'/,
  'agent.caConfigMap.key=a/b': /agent\.caConfigMap\.key must be a key of a Secret or ConfigMap, .*, but it is "a\/b"/,
  'webhookReceiver.hmac.secretRef.key=..': /webhookReceiver\.hmac\.secretRef\.key must be a key of a Secret/,
  'agent.caConfigMap.name=a-': /agent\.caConfigMap\.name must be the name of an object, .*, but it is "a-"/,
  'webhookReceiver.serviceAccount.name=My Account':
    /webhookReceiver\.serviceAccount\.name must be the name of an object, .*, but it is "My Account"/,
  'clusterName=a b': /clusterName must be at most 63 letters, .*, but it is "a b"/,
  'podDisruptionBudget.maxUnavailable=half': /podDisruptionBudget\.maxUnavailable must be a number of pods, or .*25%/,
  'webhookReceiver.podDisruptionBudget.minAvailable=200%': /minAvailable must be a number of pods, or a percentage/,
  'webhookReceiver.trustedProxyHops=one':
    /webhookReceiver\.trustedProxyHops must be a number or empty, but it is "one"/,
  'webhookReceiver.service.port=http': /webhookReceiver\.service\.port must be a number from 1 to 65535, or empty/,
  'agent.resources.limits.memory=256MB':
    /agent\.resources\.limits\.memory must be a quantity such as 10m, 64Mi, or 1Gi, but it is "256MB"/,
  'resources.requests.cpu=': /resources\.requests\.cpu must be a quantity such as 10m, 64Mi, or 1Gi, but it is ""/,
  'image.repository=ghcr.io/x/controller:1.2':
    /image\.repository must be a repository such as ghcr\.io\/.*, without https:\/\/, a tag, or a digest, but it is "ghcr\.io\/x\/controller:1\.2"/,
  'agentImage.repository=https://ghcr.io/x/agent':
    /agentImage\.repository must be a repository such as .*, without https:\/\//,
  'image.tag=sha256:abc': /image\.tag must be a tag such as 1\.2\.3, .*; specify a digest in image\.digest/,
  'controller.git.deniedNetworks={1:2:3/64}': /deniedNetworks\[0\] must be a network such as .*, but it is "1:2:3\/64"/,
  'webhookReceiver.autoscaling.enabled=true,webhookReceiver.resources=null': /requests.cpu is missing; set it to 100m/,
  'agent.resources.limit.cpu=1': /at '\/agent\/resources': additional properties 'limit' not allowed/,
  'dnsPolicy=Cluster': /at '\/dnsPolicy': value must be one of '', 'ClusterFirst'/,
  'extraVolumes[0].name=tmp,extraVolumes[0].emptyDir.medium=Memory':
    /extraVolumes must not set tmp, which the chart sets/,
  'extraVolumeMounts[0].name=x,extraVolumeMounts[0].mountPath=/tmp':
    /extraVolumeMounts must not set \/tmp, which the chart sets/,
  'extraVolumeMounts[0].name=x': /at '\/extraVolumeMounts\/0': missing property 'mountPath'/,
  'webhookReceiver.autoscaling.enabled=true,webhookReceiver.autoscaling.minReplicas=99':
    /autoscaling.minReplicas \(99\) must not exceed maxReplicas/,
  'webhookReceiver.autoscaling.enabled=true': /requests.cpu is 10m; set it to 100m or more/,
  'webhookReceiver.autoscaling.enabled=true,webhookReceiver.resources.requests.cpu=0.01':
    /requests.cpu is 0.01; set it to 100m or more/,
  'extraEnv[0].name=LOG_LEVEL,extraEnv[0].value=debug': /extraEnv must not set LOG_LEVEL, which the chart sets/,
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
    for (const [flags] of exposures)
      for (const each of means)
        await helm('template', chart, '--set', `webhookReceiver.enabled=true,${flags},webhookReceiver.${each}`);
    await helm('template', chart, '--set', 'webhookReceiver.enabled=true');
    for (const [flags] of exposures) await helm('template', chart, '--set', flags);
  },
);

test('a resource quantity can be a number of any size', async () => {
  const flags = 'agent.resources.limits.memory=268435456,resources.limits.memory=134217728,resources.limits.cpu=0.5';
  assert.match(await helm('template', chart, '--set', flags), /"memory":268435456/);
});

test('a condition of an umbrella chart can enable the chart', async () => {
  await helm('template', chart, '--set', 'enabled=true,global.imageRegistry=x');
});

for (const [flags, words] of sample(Object.entries(mistakes))) {
  test(`helm rejects --set ${flags} with a helpful message`, async () => {
    await assert.rejects(helm('template', chart, '--set', flags), (error: Error) => {
      assert.match(error.message.replaceAll('\n', ' '), words);
      return true;
    });
  });
}

for (const release of ['my.rel', '9rel', `${'a'.repeat(52)}.`]) {
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
