import type { KubernetesClient } from '../../../shared/io/kubernetes/client.ts';

const authorization = '/apis/authorization.k8s.io/v1';

/** Something that an account may do, as `verb resource.group/subresource name`: group, subresource and name are optional. */
export type Right = string;

interface ResourceRule {
  verbs: string[];
  apiGroups?: string[];
  resources?: string[];
  resourceNames?: string[];
}

interface RulesReview {
  status: { resourceRules: ResourceRule[]; nonResourceRules: { verbs: string[]; nonResourceURLs?: string[] }[] };
}

/** Lists all that an account may do in a namespace, sorted; the client acts as that account. */
export async function listRights(client: KubernetesClient, namespace: string): Promise<Right[]> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const { status } = await client.create<RulesReview>(`${authorization}/selfsubjectrulesreviews`, review);
  const rights = new Set([
    ...status.resourceRules.flatMap(rightsOf),
    ...status.nonResourceRules.flatMap(({ verbs, nonResourceURLs = [] }) =>
      verbs.flatMap((verb) => nonResourceURLs.map((url) => `${verb} ${url}`)),
    ),
  ]);
  return [...rights].sort();
}

function rightsOf({ verbs, apiGroups = [], resources = [], resourceNames = [''] }: ResourceRule): Right[] {
  const targets = apiGroups.flatMap((group) => resources.map((resource) => inGroup(resource, group)));
  return verbs.flatMap((verb) =>
    targets.flatMap((target) => resourceNames.map((name) => `${verb} ${target} ${name}`.trim())),
  );
}

function inGroup(resourceAndSubresource: string, group: string): string {
  const [resource, ...subresource] = resourceAndSubresource.split('/');
  return [group ? `${resource}.${group}` : resource, ...subresource].join('/');
}

/** Asks the API server, as its administrator, whether a service account has a right in a namespace. */
export async function isAllowed(
  administrator: KubernetesClient,
  account: { namespace: string; name: string },
  { right, namespace }: { right: Right; namespace: string },
): Promise<boolean> {
  const { status } = await administrator.create<{ status: { allowed: boolean } }>(
    `${authorization}/subjectaccessreviews`,
    {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SubjectAccessReview',
      spec: {
        user: `system:serviceaccount:${account.namespace}:${account.name}`,
        groups: ['system:serviceaccounts', `system:serviceaccounts:${account.namespace}`, 'system:authenticated'],
        resourceAttributes: { namespace, ...attributesOf(right) },
      },
    },
  );
  return status.allowed;
}

function attributesOf(right: Right) {
  const [verb, target = '', name] = right.split(' ');
  const [resourceInGroup = '', subresource] = target.split('/');
  const [resource, ...group] = resourceInGroup.split('.');
  return { verb, resource, group: group.join('.'), subresource, name };
}
