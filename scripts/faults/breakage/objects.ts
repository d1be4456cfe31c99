import { groupPath, syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { LEASE, OPERATOR } from '../world/rights.ts';
import { type Breakages, pick } from './breakage.ts';

/** Changes by a user with too many permissions to the objects of the programs. */
export const objects = {
  'wipe a status': async ({ plane, resources }, { target }) => {
    const resource = pick(resources, target);
    await plane.merge(`${resource.path}/status`, { status: null });
    resource.intents.forgetOrder();
    return { did: `wiped the status of ${resource.name}` };
  },
  'delete the lease': async ({ plane }) => {
    await plane.delete(groupPath('coordination.k8s.io/v1', 'leases', OPERATOR, LEASE));
    return { did: 'deleted the Lease' };
  },
  'delete RoleBindings': async ({ plane, resources }, { target }) => {
    const { namespace } = pick(resources, target);
    const bindings = groupPath('rbac.authorization.k8s.io/v1', 'rolebindings', namespace);
    await plane.ask({ method: 'DELETE', path: bindings });
    return { did: `deleted the RoleBindings in ${namespace}` };
  },
  // A running agent checks only every five minutes whether its report exists.
  'delete a report': async ({ plane, gateways }, { target }) => {
    const { agent, namespace, name } = pick(gateways, target);
    await agent?.kill();
    await plane.delete(syncReportPath(namespace, name));
    return { did: `killed the agent of ${name} and deleted its report`, heal: () => agent?.start() };
  },
} satisfies Breakages;
