import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apply, createNamespace } from '../support/cluster.ts';
import { until } from '../support/until.ts';
import { connectAdministrator } from './support/client-for.ts';
import { installRights } from './support/install-rights.ts';
import { isAllowed } from './support/rights.ts';

const reading = ['get', 'list', 'watch'].flatMap((verb) => [
  `${verb} gatewaysyncs.sync.io`,
  `${verb} syncreports.sync.io`,
]);
const writing = ['create', 'update', 'patch', 'delete', 'deletecollection'].map(
  (verb) => `${verb} gatewaysyncs.sync.io`,
);
/** Only programs write these. */
const reserved = ['patch gatewaysyncs.sync.io/status', 'create syncreports.sync.io', 'patch syncreports.sync.io'];

const people = {
  view: { may: reading, mayNot: [...writing, ...reserved] },
  edit: { may: [...reading, ...writing], mayNot: reserved },
  admin: { may: [...reading, ...writing], mayNot: reserved },
};

for (const [role, { may, mayNot }] of Object.entries(people)) {
  test(`an account with the role ${role} in a namespace has suitable permissions in that namespace only`, async (t) => {
    const namespace = await createNamespace(t);
    const elsewhere = await createNamespace(t);
    await installRights(t, { namespace });
    const account = { namespace, name: role };
    await apply({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { namespace, name: role },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
      subjects: [{ kind: 'ServiceAccount', ...account }],
    });
    const administrator = await connectAdministrator();
    const allowed = async (rights: string[], where: string) => {
      const ask = (right: string) => isAllowed(administrator, account, { right, namespace: where });
      const answers = await Promise.all(rights.map(ask));
      return rights.filter((_, index) => answers[index]);
    };
    await until(() => allowed(may, namespace), {
      describe: `all of ${may.join(', ')}`,
      accept: (found) => found.length === may.length,
    });
    assert.deepEqual(await allowed(mayNot, namespace), []);
    assert.deepEqual(await allowed([...may, ...mayNot], elsewhere), []);
  });
}
