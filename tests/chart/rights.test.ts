import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { apply, createNamespace } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { clientFor, connectAdministrator } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import { isAllowed, listRights, type Right } from './support/rights.ts';

/** Permissions of an account beyond those that all accounts have. */
interface Expected {
  /** In the namespaces in which it works. */
  there: Right[];
  /** In the namespace of the release alone. */
  own: Right[];
  /** On objects that belong to no namespace, or to all. */
  cluster: Right[];
}

const all = (verbs: string, target: string): Right[] => verbs.split(' ').map((verb) => `${verb} ${target}`);

const reviews = ['create tokenreviews.authentication.k8s.io', 'create subjectaccessreviews.authorization.k8s.io'];
const leaseOf = (namespace: string) => [
  'create leases.coordination.k8s.io',
  ...all('get update delete', `leases.coordination.k8s.io ${namespace}-controller`),
];
const binding = [
  ...all('get list watch create patch delete', 'rolebindings.rbac.authorization.k8s.io'),
  'bind clusterroles.rbac.authorization.k8s.io sync-agent',
];
const reconciling = [
  ...all('get list watch', 'gatewaysyncs.sync.io'),
  ...all('list watch', 'syncreports.sync.io'),
  'patch gatewaysyncs.sync.io/status',
  ...all('list watch', 'pods'),
  'get secrets',
  ...all('get create delete', 'controllerrevisions.apps'),
  ...['replicasets.apps', 'statefulsets.apps', 'daemonsets.apps', 'jobs.batch'].map((kind) => `list ${kind}`),
  'create events',
];

/** Permissions that no account of this chart has in any namespace, regardless of the values. */
const never: Right[] = [
  ...all('list watch delete deletecollection patch', 'secrets'),
  ...all('create update patch delete deletecollection', 'pods'),
  ...all('create get', 'pods/exec'),
  ...all('create get', 'pods/attach'),
  ...all('create get', 'pods/portforward'),
  ...all('get create', 'pods/proxy'),
  'get pods/log',
  'patch pods/ephemeralcontainers',
  'create pods/eviction',
  ...all('get list create update patch delete', 'configmaps'),
  ...all('create update patch delete impersonate', 'serviceaccounts'),
  'create serviceaccounts/token',
  ...all('get list patch', 'nodes'),
  ...all('get create', 'nodes/proxy'),
  ...all('get list create patch delete', 'namespaces'),
  ...all('get list create patch delete', 'persistentvolumes'),
  ...all('get patch create delete', 'deployments.apps'),
  ...all('get patch create delete', 'daemonsets.apps'),
  ...all('get patch create delete', 'statefulsets.apps'),
  'patch deployments.apps/scale',
  ...all('list watch update patch deletecollection', 'controllerrevisions.apps'),
  ...all('create', 'jobs.batch'),
  ...all('create update patch delete deletecollection', 'gatewaysyncs.sync.io'),
  'update gatewaysyncs.sync.io/status',
  ...all('delete deletecollection', 'syncreports.sync.io'),
  ...all('create update patch delete escalate bind', 'roles.rbac.authorization.k8s.io'),
  ...all('create update patch delete escalate bind', 'clusterroles.rbac.authorization.k8s.io'),
  ...all('bind escalate', 'clusterroles.rbac.authorization.k8s.io cluster-admin'),
  'escalate clusterroles.rbac.authorization.k8s.io sync-agent',
  ...all('create update patch delete', 'clusterrolebindings.rbac.authorization.k8s.io'),
  ...all('impersonate', 'users'),
  ...all('impersonate', 'groups'),
  'impersonate userextras.authentication.k8s.io/scopes',
  ...all('get create patch delete', 'customresourcedefinitions.apiextensions.k8s.io'),
  ...all('create update patch delete', 'validatingadmissionpolicies.admissionregistration.k8s.io'),
  ...all('create update patch delete', 'validatingadmissionpolicybindings.admissionregistration.k8s.io'),
  ...all('list create update delete', 'mutatingwebhookconfigurations.admissionregistration.k8s.io'),
  ...all('patch', 'mutatingwebhookconfigurations.admissionregistration.k8s.io another'),
  ...all('create update patch delete', 'validatingwebhookconfigurations.admissionregistration.k8s.io'),
  ...all('create approve', 'certificatesigningrequests.certificates.k8s.io'),
  'update certificatesigningrequests.certificates.k8s.io/approval',
  ...all('get list patch delete', 'leases.coordination.k8s.io'),
  ...all('get update', 'leases.coordination.k8s.io another'),
  'update secrets another',
  '* *',
  '* *.*',
];

interface Case {
  values?: object;
  /** Returns the account and its permissions; the first namespace is the release's. */
  expect: (namespace: string) => { account: string; expected: Expected };
}

const controller = (expected: Partial<Expected> | ((namespace: string) => Partial<Expected>)): Case['expect'] => {
  return (namespace) => {
    const given = typeof expected === 'function' ? expected(namespace) : expected;
    return {
      account: namespace,
      expected: { there: [...reconciling, ...binding], own: leaseOf(namespace), cluster: reviews, ...given },
    };
  };
};

const receiver: Case['expect'] = (namespace) => ({
  account: `${namespace}-receiver`,
  expected: { there: ['patch gatewaysyncs.sync.io'], own: [], cluster: [] },
});

const selfSigned = { certManager: { enabled: false } };
const ownCertificate = (namespace: string): Partial<Expected> => ({
  own: [...leaseOf(namespace), 'create secrets', ...all('get update', `secrets ${namespace}-webhook-certificate`)],
  cluster: [
    ...reviews,
    ...all('get patch', `mutatingwebhookconfigurations.admissionregistration.k8s.io ${namespace}-webhook`),
  ],
});

const cases: Record<string, Case> = {
  'the controller': { expect: controller({}) },
  'the controller with a certificate of its own': { values: selfSigned, expect: controller(ownCertificate) },
  'the controller that may evict pods': {
    values: { webhook: { failurePolicy: 'Ignore', evictPodsWithoutSidecar: true } },
    expect: controller({ there: [...reconciling, ...binding, 'create pods/eviction'] }),
  },
  'the controller with GitHub Apps': {
    values: { githubApp: { enabled: true } },
    expect: controller({ there: [...reconciling, ...binding, ...all('create update', 'secrets')] }),
  },
  'the controller without automatic binding, webhook, metrics and leader election': {
    values: {
      rbac: { autoBindAgent: { enabled: false } },
      webhook: { enabled: false },
      metrics: { enabled: false },
      leaderElection: { enabled: false },
    },
    expect: controller({ there: reconciling, own: [], cluster: [] }),
  },
  'the controller under another account': {
    values: { serviceAccount: { name: 'other' } },
    expect: (namespace) => ({ ...controller({})(namespace), account: 'other' }),
  },
  'the receiver': { expect: receiver },
  'the receiver under another account': {
    values: { webhookReceiver: { enabled: true, serviceAccount: { name: 'other' } } },
    expect: (namespace) => ({ ...receiver(namespace), account: 'other' }),
  },
};

for (const [who, { values, expect }] of Object.entries(cases)) {
  for (const isConfined of [false, true]) {
    test(`${who} has exactly the permissions that it needs${isConfined ? ', in the namespaces that it watches' : ''}`, async (t) => {
      const namespace = await createNamespace(t);
      const watched = await createNamespace(t);
      const elsewhere = await createNamespace(t);
      const confinement = isConfined && { controller: { watchNamespaces: [watched] } };
      await installRights(t, { namespace, values: { ...values, ...confinement } });
      const { account, expected } = expect(namespace);
      const client = await clientFor({ namespace, serviceAccount: account });
      const { there, own, cluster } = expected;
      const inEveryNamespace = isConfined ? cluster : [...there, ...cluster];

      await checkPermissions(
        { account: { namespace, name: account }, client },
        {
          [namespace]: [...inEveryNamespace, ...own],
          [watched]: [...there, ...cluster],
          [elsewhere]: inEveryNamespace,
        },
      );
    });
  }
}

test('an agent can read GatewaySyncs and their revisions, and write reports, only in its own namespace', async (t) => {
  const namespace = await createNamespace(t);
  const elsewhere = await createNamespace(t);
  await installRights(t, { namespace });
  const account = { namespace, name: 'gateway' };
  await apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { namespace, name: account.name } },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { namespace, name: 'sync-agent-site' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'sync-agent' },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    },
  ]);
  const client = await clientFor({ namespace, serviceAccount: account.name });
  const rights = [
    ...all('get list watch', 'gatewaysyncs.sync.io'),
    ...all('get create patch', 'syncreports.sync.io'),
    'get controllerrevisions.apps',
  ];
  await checkPermissions({ account, client }, { [namespace]: rights, [elsewhere]: [] });
});

interface Subject {
  account: { namespace: string; name: string };
  client: KubernetesClient;
}

/** Checks that an account has exactly the expected permissions in each namespace. */
async function checkPermissions({ account, client }: Subject, expected: Record<string, Right[]>): Promise<void> {
  const administrator = await connectAdministrator();
  const unprivileged = await clientFor({ namespace: account.namespace, serviceAccount: 'default' });
  const commonRights = await listRights(unprivileged, account.namespace);
  const [first] = Object.keys(expected);
  for (const [namespace, rights] of Object.entries(expected)) {
    const wanted = [...rights].sort();
    const beyond = async () => (await listRights(client, namespace)).filter((right) => !commonRights.includes(right));
    await until(beyond, {
      describe: `exactly these rights in ${namespace}: ${wanted.join(', ')}`,
      accept: (found) => found.join() === wanted.join(),
    });
    const answer = (right: Right) => isAllowed(administrator, account, { right, namespace });
    const others = Object.values(expected).flat();
    // The whole list is compared in every namespace. The API server's own refusal of each is checked in only one.
    const refused = [...(namespace === first ? never : []), ...others].filter((right) => !rights.includes(right));
    const wrong = [
      ...(await filter(rights, async (right) => !(await answer(right)))).map((right) => `misses ${right}`),
      ...(await filter(refused, answer)).filter((right) => !isCovered(right, rights)).map((right) => `has ${right}`),
    ];
    assert.deepEqual(wrong, [], namespace);
  }
}

/** Whether a right on one object follows from the same right on all of them. */
const isCovered = (right: Right, rights: Right[]) => rights.includes(right.split(' ').slice(0, 2).join(' '));

async function filter<T>(items: T[], accept: (item: T) => Promise<boolean>): Promise<T[]> {
  const accepted = await Promise.all(items.map(accept));
  return items.filter((_, index) => accepted[index]);
}
