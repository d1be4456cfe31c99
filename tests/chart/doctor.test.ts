import assert from 'node:assert/strict';
import path from 'node:path';
import { suite, test } from 'node:test';
import { diagnose } from '../../cli/checks/diagnose.ts';
import type { ReadResult, Section } from '../../cli/checks/finding.ts';
import { type Deployment, leaseNameOf } from '../../cli/checks/objects.ts';
import type { OperatorPlace, Survey } from '../../cli/checks/survey.ts';
import { makeAuthority } from '../../controller/certificates/make-certificate.ts';
import { sample } from '../support/depth.ts';
import { listValuesFiles, type Rendered, renderFile } from './support/render.ts';

const NAMESPACE = 'operator';
const now = Date.parse('2026-01-02T00:00:00Z');
const seen = <T>(value: unknown): ReadResult<T> => ({ kind: 'seen', value: value as T });
const caBundle = Buffer.from(makeAuthority(now).certificate).toString('base64');

/** Returns the survey of a cluster in which the chart is installed and its programs run. */
function installed(objects: Rendered[]): Survey {
  const allOf = (kind: string) => objects.filter((object) => object.kind === kind);
  const components: Rendered[] = allOf('Deployment').map((object) => ({
    ...object,
    status: { updatedReplicas: 9, availableReplicas: 9 },
    metadata: { ...object.metadata, namespace: object.metadata.namespace ?? NAMESPACE },
  }));
  const services = allOf('Service');
  const endpoints = services.map(({ metadata }) => ({
    metadata: { labels: { 'kubernetes.io/service-name': metadata.name } },
    endpoints: [{ conditions: { ready: true } }],
  }));
  const pods = components.map(({ metadata, spec }) => ({
    metadata: { name: metadata.name, labels: spec.template.metadata.labels },
  }));
  const mounted = components.flatMap(({ spec }) =>
    (spec.template.spec.volumes ?? []).flatMap(
      ({ secret }: { secret?: { secretName: string } }) => secret?.secretName ?? [],
    ),
  );
  const keys = { 'webhook-secret': 1, 'webhook-token': 1, 'tls.crt': 1 };
  const lease = { spec: { holderIdentity: `${pods[0]?.metadata.name}_1`, renewTime: new Date(now).toISOString() } };
  const webhooks = allOf('MutatingWebhookConfiguration').map((object) => ({
    ...object,
    webhooks: object.webhooks.map((webhook: { clientConfig: object }) => ({
      ...webhook,
      clientConfig: { ...webhook.clientConfig, caBundle },
    })),
  }));
  const place: OperatorPlace = {
    pods: seen(pods),
    leases: Object.fromEntries(components.map((each) => [leaseNameOf(each as unknown as Deployment), seen(lease)])),
    services: seen(services),
    endpoints: seen(endpoints),
    networkPolicies: seen(allOf('NetworkPolicy')),
    secrets: Object.fromEntries(mounted.map((name: string) => [name, seen(keys)])),
    certificates: {},
  };
  return {
    now,
    version: components[0]?.metadata.labels?.['app.kubernetes.io/version'] ?? '',
    cluster: {
      server: seen({ gitVersion: 'v1.36.3' }),
      groupVersions: seen(['v1alpha1']),
      resources: seen(['gatewaysyncs', 'syncreleases', 'syncreports']),
      crds: seen(
        allOf('CustomResourceDefinition').map((object) => ({
          ...object,
          status: { conditions: [{ type: 'Established', status: 'True' }] },
        })),
      ),
      webhooks: seen(webhooks),
      policies: seen(allOf('ValidatingAdmissionPolicy')),
      policyBindings: seen(allOf('ValidatingAdmissionPolicyBinding')),
      receiverBindings: seen(allOf('ClusterRoleBinding')),
      agentRole: seen(allOf('ClusterRole').find(({ metadata }) => metadata.name === 'sync-agent')),
    },
    operator: { deployments: seen(components), searched: undefined, places: { [NAMESPACE]: place } },
    namespaces: [],
  };
}

const wrongIn = (sections: Section[]) =>
  sections
    .flatMap(({ findings }) => findings)
    .flatMap(({ level, check, says }) => (level === 'ok' ? [] : [`${check}: ${says}`]));

suite('kubectl stoker doctor', async () => {
  for (const file of sample(await listValuesFiles()))
    test(`finds nothing wrong in an installation with ${path.basename(file)}`, async () => {
      const objects = await renderFile(file, { namespace: NAMESPACE });
      const { sections } = diagnose(installed(objects));
      const has = (kind: string, name: string) =>
        objects.some((each) => each.kind === kind && each.metadata.name === name);
      // What these values leave out on purpose.
      const meant = [
        ...(has('ClusterRole', 'sync-agent') ? [] : [/^rights\/cluster-role: ClusterRole sync-agent not found/]),
        ...(file.includes('open-receiver') ? [/^receiver\/authentication: .* unauthenticated deliveries/] : []),
        ...(objects.some(({ kind }) => kind === 'MutatingWebhookConfiguration') ? [] : [/webhook\.enabled is false/]),
      ];
      const wrong = wrongIn(sections);
      assert.deepEqual(
        wrong.filter((words) => !meant.some((pattern) => pattern.test(words))),
        [],
      );
      for (const pattern of meant)
        assert.ok(
          wrong.some((words) => pattern.test(words)),
          `${pattern}`,
        );
      assert.ok(sections.length === 4 && sections.every(({ findings }) => findings.length > 0));
    });
});
