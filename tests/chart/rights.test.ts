import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { apply, createNamespace } from '../support/cluster.ts';
import { roleBinding } from '../support/role-binding.ts';
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
  ...all('get list watch create patch delete', 'syncreleases.sync.io'),
  'patch syncreleases.sync.io/status',
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
  ...all('get list watch create update patch delete deletecollection', 'controllerrevisions.apps'),
  ...all('create', 'jobs.batch'),
  ...all('create update patch delete deletecollection approve', 'gatewaysyncs.sync.io'),
  'update gatewaysyncs.sync.io/status',
  ...all('update deletecollection', 'syncreleases.sync.io'),
  'update syncreleases.sync.io/status',
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
  /** Returns the account and its permissions in an installation of this name. */
  expect: (release: string) => { account: string; expected: Expected };
}

const selfSigned = { certManager: { enabled: false } };
const ownCertificate = (release: string): Omit<Expected, 'there'> => ({
  own: [...leaseOf(release), 'create secrets', ...all('get update', `secrets ${release}-webhook-certificate`)],
  cluster: [
    ...reviews,
    ...all('get patch', `mutatingwebhookconfigurations.admissionregistration.k8s.io ${release}-webhook`),
  ],
});

const cases: Record<string, Case> = {
  'the controller': {
    expect: (release) => ({
      account: release,
      expected: { there: [...reconciling, ...binding], own: leaseOf(release), cluster: reviews },
    }),
  },
  'the controller with a certificate of its own': {
    values: selfSigned,
    expect: (release) => ({
      account: release,
      expected: { there: [...reconciling, ...binding], ...ownCertificate(release) },
    }),
  },
  'the controller with all that it can do': {
    values: {
      ...selfSigned,
      githubApp: { enabled: true },
    },
    expect: (release) => ({
      account: release,
      expected: {
        there: [...reconciling, ...binding, ...all('create update', 'secrets')],
        ...ownCertificate(release),
      },
    }),
  },
  'the controller without automatic binding, webhook, metrics and leader election': {
    values: {
      rbac: { autoBindAgent: { enabled: false } },
      webhook: { enabled: false },
      metrics: { enabled: false },
      leaderElection: { enabled: false },
    },
    expect: (release) => ({ account: release, expected: { there: reconciling, own: [], cluster: [] } }),
  },
  'the receiver': {
    expect: (release) => ({
      account: `${release}-receiver`,
      expected: { there: ['patch gatewaysyncs.sync.io'], own: [], cluster: [] },
    }),
  },
};

const namespace = await createNamespace({ after });
const watched = await createNamespace({ after });
const elsewhere = await createNamespace({ after });

/** Installs the permissions of a case in the first namespace, next to those of the others. */
async function install([who, { values, expect }]: [string, Case], isConfined: boolean) {
  const release = `op-${randomUUID().slice(0, 8)}`;
  const confinement = isConfined && { controller: { watchNamespaces: [watched] } };
  await installRights({ after }, { namespace, values: { fullnameOverride: release, ...values, ...confinement } });
  return { who, isConfined, ...expect(release) };
}

const installations = Object.entries(cases).flatMap((each) => [install(each, false), install(each, true)]);

for (const { who, isConfined, account, expected } of await Promise.all(installations)) {
  const where = isConfined ? ', in the namespaces that it watches' : '';
  test(`${who} has exactly the permissions that it needs${where}`, async () => {
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

/** Gives a new account a role in the first namespace. */
async function bind(name: string, role: string) {
  const account = { namespace, name };
  await apply([
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
    roleBinding({ namespace, name: `sync-agent-${name}` }, role, [name]),
  ]);
  return account;
}

test('an agent can read GatewaySyncs and a release by its name, and write reports, only in its own namespace', async () => {
  const account = await bind('gateway', 'sync-agent');
  const client = await clientFor({ namespace, serviceAccount: account.name });
  const rights = [
    ...all('get list watch', 'gatewaysyncs.sync.io'),
    ...all('get create patch', 'syncreports.sync.io'),
    'get syncreleases.sync.io',
  ];
  await checkPermissions({ account, client }, { [namespace]: rights, [elsewhere]: [] });
});

test('users with the roles view, edit, and admin can read resources, and all but viewers can write and approve them', async () => {
  const administrator = await connectAdministrator();
  const kinds = ['gatewaysyncs.sync.io', 'syncreleases.sync.io', 'syncreports.sync.io'];
  const reading = kinds.flatMap((kind) => all('get list watch', kind));
  const writing = all('create update patch delete deletecollection', 'gatewaysyncs.sync.io');
  const approving = ['approve gatewaysyncs.sync.io', 'patch syncreleases.sync.io'];
  /** Only programs write these. */
  const reserved = [
    ...['patch gatewaysyncs.sync.io/status', 'patch syncreleases.sync.io/status'],
    ...all('create update delete deletecollection', 'syncreleases.sync.io'),
    ...all('create patch', 'syncreports.sync.io'),
  ];
  const every = [...reading, ...writing, ...approving, ...reserved];
  for (const [role, expected] of Object.entries({
    view: reading,
    edit: [...reading, ...writing, ...approving],
    admin: [...reading, ...writing, ...approving],
  })) {
    const account = await bind(role, role);
    const allowedIn = (where: string) =>
      filter(every, (right) => isAllowed(administrator, account, { right, namespace: where }));
    await until(() => allowedIn(namespace), {
      describe: `exactly the permissions of ${role}`,
      accept: (found) => found.join() === expected.join(),
    });
    assert.deepEqual(await allowedIn(elsewhere), []);
  }
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
    const wanted = [...new Set(rights)].sort();
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
