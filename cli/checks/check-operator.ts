import { checkAuthentication, checkService } from './check-receiver.ts';
import { type Finding, type Findings, failed, flatten, ok, seenOr, unread, unseen, warning } from './finding.ts';
import { componentsOf, watchedBy } from './installation.ts';
import { componentOf, type Deployment, leaseNameOf, releaseOf, settingOf } from './objects.ts';
import { troublesOf } from './pod-troubles.ts';
import type { OperatorPlace, OperatorSurvey, Survey } from './survey.ts';

const INSTALLATION = 'how-to/installation.md';

const isSameRelease = (one: Deployment, other: Deployment): boolean =>
  one.metadata.namespace === other.metadata.namespace && releaseOf(one) === releaseOf(other);

const addressOf = ({ metadata }: Deployment) => `${metadata.namespace}/${metadata.name}`;

/** Checks that controllers and receivers exist, run, and have the same version. */
export function checkOperator({ operator, version, now }: Survey): Findings {
  const controllers = componentsOf(operator, 'controller');
  const receivers = componentsOf(operator, 'receiver');
  if (operator.deployments.kind === 'hidden')
    return unseen('operator/installed', 'the Deployments of the operator', operator.deployments);
  const lost = unread('operator/installed', 'the Deployments of the operator', operator.deployments);
  if (controllers.length === 0) return [lost, absent(operator)];
  const place = ({ metadata }: Deployment) => operator.places[metadata.namespace];
  return [
    lost,
    controllers.flatMap((controller) => [
      checkDeployment(controller, { place: place(controller), component: 'controller' }),
      checkLease(controller, { place: place(controller), now }),
      checkVersion(controller, version),
    ]),
    checkSeveral(controllers),
    Object.entries(operator.places).map(([namespace, { pods }]) =>
      unread('operator/pods', `the pods of the operator in ${namespace}`, pods),
    ),
    receivers.flatMap((receiver) => [
      checkInstalledReceiver(receiver, place(receiver)),
      checkVersion(receiver, versionOf(controllers.find((controller) => isSameRelease(controller, receiver)))),
    ]),
    receivers.length === 0 ? ok('receiver/installed', 'no receiver is installed: changes are detected by polling') : [],
  ];
}

/** Checks the Secrets first: without them, a receiver doesn't become ready and has no log. */
function checkInstalledReceiver(receiver: Deployment, place: OperatorPlace | undefined): Findings {
  const secrets = place ? checkAuthentication(receiver, place) : [];
  const cause = flatten(secrets).find(({ level }) => level === 'failed');
  return [
    secrets,
    checkDeployment(receiver, { place, component: 'receiver', cause }),
    place ? checkService(receiver, place) : [],
  ];
}

function absent({ searched }: OperatorSurvey): Finding {
  if (!searched)
    return failed('operator/installed', 'no controller of the operator is installed in this cluster', {
      todo: 'install the chart',
      page: INSTALLATION,
    });
  return warning(
    'operator/installed',
    `no controller found in ${searched.join(', ')}, and you cannot list all namespaces`,
    {
      todo: 'specify its namespace with --operator-namespace, or ask an administrator to run this command',
      page: INSTALLATION,
    },
  );
}

interface Component {
  place: OperatorPlace | undefined;
  component: 'controller' | 'receiver';
  /** An earlier finding that explains why pods aren't ready. */
  cause?: Finding | undefined;
}

/** Checks that a Deployment runs, and reports why its pods aren't ready. */
function checkDeployment(deployment: Deployment, { place, component, cause }: Component): Findings {
  const { metadata, spec, status = {} } = deployment;
  const check = `${component}/ready`;
  const name = `the ${component} ${addressOf(deployment)}`;
  const { replicas = 1 } = spec;
  const { availableReplicas = 0, updatedReplicas = 0 } = status;
  if (replicas === 0)
    return failed(check, `${name} is scaled to 0`, {
      todo: `kubectl scale deployment ${metadata.name} -n ${metadata.namespace} --replicas=1`,
      page: INSTALLATION,
    });
  const own = (place ? seenOr(place.pods, []) : []).filter(
    (pod) => componentOf(pod) === component && releaseOf(pod) === releaseOf(deployment),
  );
  const troubles = own.flatMap((pod) => troublesOf(pod).map(({ says }) => `${pod.metadata.name}: ${says}`));
  const why = troubles.length > 0 ? `: ${troubles.slice(0, 2).join('; ')}` : '';
  const describe = `see kubectl describe pods and kubectl logs deploy/${metadata.name} in ${metadata.namespace}`;
  const todo = cause ? 'correct its Secret, see above' : describe;
  if (availableReplicas === 0) return failed(check, `${name} has no ready pods${why}`, { todo, page: INSTALLATION });
  if (availableReplicas < replicas || updatedReplicas < replicas)
    return warning(
      check,
      `${name} has ${availableReplicas} of ${replicas} pods ready, ${updatedReplicas} updated${why}`,
      { todo: `wait; if it persists, ${todo}`, page: INSTALLATION },
    );
  return ok(check, `${name} is ready`);
}

/** Tolerated clock difference of the Lease holder (ms). */
const SLACK_MS = 15_000;

function checkLease(
  controller: Deployment,
  { place, now }: { place: OperatorPlace | undefined; now: number },
): Findings {
  const name = leaseNameOf(controller);
  const where = `in ${controller.metadata.namespace}`;
  const page = 'explanation/architecture.md';
  if (settingOf(controller, 'LEADER_ELECTION') === 'false') {
    const { replicas = 1 } = controller.spec;
    return replicas <= 1
      ? ok('operator/leader', 'one controller leads without an election')
      : failed('operator/leader', `${replicas} controllers lead at the same time: leaderElection.enabled is false`, {
          todo: 'set leaderElection.enabled, or replicaCount=1',
          page,
        });
  }
  const lease = place?.leases[name];
  if (!place || !lease) return [];
  if (lease.kind === 'hidden') return unseen('operator/leader', `the Lease ${name} ${where}`, lease);
  const { holderIdentity, renewTime = '', leaseDurationSeconds = 15 } = lease.value?.spec ?? {};
  const todo = `see the log of the controller: kubectl logs deploy/${controller.metadata.name} -n ${controller.metadata.namespace}`;
  if (!holderIdentity)
    return failed('operator/leader', `no controller leads ${where}: the Lease has no holder (${name})`, { todo, page });
  const ageMs = now - Date.parse(renewTime);
  if (!(ageMs <= leaseDurationSeconds * 1000 + SLACK_MS))
    return failed(
      'operator/leader',
      `no controller leads ${where}: ${holderIdentity} last renewed the Lease ${renewTime ? `at ${renewTime}` : 'at an unknown time'}`,
      { todo, page },
    );
  return [checkHolder(holderIdentity, place) ?? ok('operator/leader', `one controller leads: ${holderIdentity}`)];
}

function checkHolder(holder: string, { pods }: OperatorPlace): Finding | undefined {
  if (pods.kind === 'hidden' || pods.value.some(({ metadata }) => holder.startsWith(metadata.name))) return undefined;
  return warning('operator/leader', `the Lease is held by ${holder}, which is not a pod of the operator`, {
    todo: 'stop the controller that runs outside of the Deployment, or wait until its Lease expires',
    page: 'explanation/architecture.md',
  });
}

/** Version of a Deployment. */
const versionOf = (deployment: Deployment | undefined): string =>
  deployment?.metadata.labels?.['app.kubernetes.io/version'] ?? '';

function checkVersion(deployment: Deployment, other: string): Findings {
  const own = versionOf(deployment);
  const component = componentOf(deployment);
  if (!own || !other || other === 'dev' || own === other) return [];
  const isReceiver = component === 'receiver';
  return warning(
    `${component}/version`,
    `the version of the ${component} is ${own}, but ${isReceiver ? 'the controller' : 'this plugin'} has ${other}`,
    {
      todo: isReceiver ? 'upgrade both with the chart' : 'use the plugin of that release',
      page: 'how-to/upgrading.md',
    },
  );
}

/** Checks that no two controllers watch the same namespace. */
function checkSeveral(controllers: readonly Deployment[]): Findings {
  const clashes = controllers.flatMap((one, index) =>
    controllers.slice(index + 1).flatMap((other) => {
      // With the same Lease, only one of them leads.
      const isElected = [one, other].every((each) => settingOf(each, 'LEADER_ELECTION') !== 'false');
      const isSameLease =
        one.metadata.namespace === other.metadata.namespace && leaseNameOf(one) === leaseNameOf(other);
      if (isElected && isSameLease) return [];
      const mine = watchedBy(one);
      const theirs = watchedBy(other);
      const overlap = mine.length === 0 || theirs.length === 0 || mine.some((name) => theirs.includes(name));
      return overlap ? [`${addressOf(one)} and ${addressOf(other)}`] : [];
    }),
  );
  return clashes.slice(0, 1).map((both) =>
    failed('operator/several', `${both} watch the same namespaces and overwrite each other's changes`, {
      todo: 'uninstall one, or set different controller.watchNamespaces',
      page: 'how-to/multi-tenancy.md',
    }),
  );
}
