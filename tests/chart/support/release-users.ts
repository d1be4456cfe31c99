import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { ApiError } from '../../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../../shared/io/kubernetes/resource-path.ts';
import type { Scope } from '../../support/clean-up.ts';
import { apply, kubectl } from '../../support/cluster.ts';
import { clusterRoleBinding, roleBinding } from '../../support/role-binding.ts';
import { clientFor } from './client-for.ts';
import type { Rendered } from './render.ts';

const RULES = {
  /** RBAC. */
  Permission: /cannot \w+ resource/,
  OnlyOwnApprovals: /a user can add only their own approval/,
  NotByController: /the controller (must not|can write only)/,
  RequiresDelete: /requires the permission to delete it/,
};

/** The rule that refuses a change (Invalid: a rule of the CRD), or what an accepted change does. */
export type Answer = keyof typeof RULES | 'Invalid' | 'Changed' | 'Unchanged';

/** A user who tries to change releases. */
export interface ReleaseUser {
  client: KubernetesClient;
  name: string;
}

/** Returns a SyncRelease as the controller creates it, or with other fields. */
export const syncRelease = (
  namespace: string,
  number: number,
  fields: { metadata?: object; approvals?: unknown } = {},
) => ({
  apiVersion: 'sync.io/v1alpha1',
  kind: 'SyncRelease',
  ...fields,
  metadata: { name: `site-${number}`, namespace, labels: { 'sync.io/cr-name': 'site' }, ...fields.metadata },
  spec: {
    number,
    sources: [{ name: 'main', repo: 'https://git.test/site.git', ref: 'main', commit: 'a'.repeat(40) }],
    sync: { profiles: { default: { mappings: [{ source: 'config', destination: 'config' }] } } },
  },
});

/** Returns the path of a SyncRelease. */
export const releasePath = (namespace: string, number: number): string =>
  groupPath('sync.io/v1alpha1', 'syncreleases', namespace, `site-${number}`);

const account = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { namespace, name },
});

/**
 * Creates users in a namespace with the policies of the chart. The operator has all permissions for the kinds of the
 * chart, and velero has all permissions in the cluster.
 */
export async function createReleaseUsers(t: Scope, namespace: string) {
  const role = `${namespace}-everything`;
  const bind = (name: string, clusterRole: string) =>
    roleBinding({ namespace, name: `${name}-${clusterRole}` }, clusterRole, [name]);
  await apply([
    ...['editor', 'approver', 'gateway', 'operator', 'velero'].map((name) => account(namespace, name)),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: role },
      rules: [{ apiGroups: ['sync.io'], resources: ['*'], verbs: ['*'] }],
    },
    // Not the roles of Kubernetes: other tests install the chart, and its defaults add permissions to `edit`.
    ...[bind('editor', `${namespace}-view`), bind('editor', `${namespace}-edit`)],
    ...[bind('approver', `${namespace}-view`), bind('approver', `${namespace}-approvers`)],
    bind('gateway', 'sync-agent'),
    bind('operator', role),
    clusterRoleBinding(`${namespace}-velero`, 'cluster-admin', { namespace, name: 'velero' }),
  ]);
  t.after(() => kubectl('delete', 'clusterrole', role));
  t.after(() => kubectl('delete', 'clusterrolebinding', `${namespace}-velero`));
  const user = async (serviceAccount: string): Promise<ReleaseUser> => ({
    client: await clientFor({ namespace, serviceAccount }),
    name: `system:serviceaccount:${namespace}:${serviceAccount}`,
  });
  return {
    editor: await user('editor'),
    gateway: await user('gateway'),
    approver: await user('approver'),
    controller: await user(namespace),
    operator: await user('operator'),
    velero: await user('velero'),
  };
}

/** Returns the answer of the API server to a change of a release with a certain content. */
export async function answerTo(change: Promise<Rendered>, before: Rendered): Promise<Answer> {
  try {
    return isDeepStrictEqual(contentOf(await change), contentOf(before)) ? 'Unchanged' : 'Changed';
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    if (error.status === 422) return 'Invalid';
    const [rule] =
      Object.entries(RULES).find(([, pattern]) => pattern.test(error.message)) ?? assert.fail(error.message);
    return rule as Answer;
  }
}

/** Returns the fields of a release except those that the API server sets. */
function contentOf({ metadata, spec, approvals, status }: Rendered): object {
  const { labels, annotations, ownerReferences, finalizers } = metadata as Rendered['metadata'] &
    Record<string, unknown>;
  return { labels, annotations, ownerReferences, finalizers, spec, approvals, status };
}
