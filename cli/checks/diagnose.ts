import { truncate } from '../../shared/domain/text/text.ts';
import { checkCluster } from './check-cluster.ts';
import { checkGatewaySync } from './check-gateway-sync.ts';
import { checkInjection } from './check-injection.ts';
import { checkNamespace } from './check-namespace.ts';
import { checkOperator } from './check-operator.ts';
import { checkPermissions } from './check-permissions.ts';
import { checkPod } from './check-pod.ts';
import {
  bugFinding,
  type Finding,
  type Findings,
  failed,
  flatten,
  type Level,
  ok,
  type Section,
  seenOr,
  unseen,
} from './finding.ts';
import { gatewayPodsOf } from './gateway-pods.ts';
import type { NamespaceSurvey, Survey } from './survey.ts';

/** Result of the checks. `--output json` prints it. */
export interface Diagnosis {
  sections: Section[];
  totals: Record<Level, number>;
}

/** Runs all checks on a survey, from the cluster to the pods. */
export function diagnose(survey: Survey): Diagnosis {
  const { everywhere } = survey;
  const unseenThere = everywhere
    ? unseen('cluster/gatewaysyncs', 'the GatewaySyncs of all namespaces', everywhere)
    : [];
  const cluster = section('Cluster', () => [checkCluster(survey.cluster), unseenThere]);
  const lacksCrds = cluster.findings.some(({ level, check }) => level === 'failed' && check.startsWith('crds/'));
  return diagnosisOf([
    cluster,
    section('Operator', () => checkOperator(survey)),
    section('Injection', () => checkInjection(survey)),
    section('Permissions', () => checkPermissions(survey)),
    ...(lacksCrds ? [] : survey.namespaces.flatMap((namespace) => sectionsOf(namespace, survey))),
  ]);
}

/** Diagnosis of an unreachable cluster. */
export const unreachable = (says: string): Diagnosis =>
  diagnosisOf([
    section('Cluster', () =>
      failed('cluster/reachable', says, {
        todo: 'check the kubeconfig: kubectl cluster-info',
        page: 'how-to/find-out-what-is-wrong.md',
      }),
    ),
  ]);

/** Runs the checks of a section. A bug in one of them is a finding, so that it doesn't hide the other sections. */
function section(title: string, check: () => Findings): Section {
  return { title, findings: flatten(attempt(check)).map(truncated) };
}

function attempt(check: () => Findings): Findings {
  try {
    return check();
  } catch (error) {
    return bugFinding('these checks failed', error);
  }
}

function diagnosisOf(sections: Section[]): Diagnosis {
  const kept = sections.filter(({ findings }) => findings.length > 0);
  const count = (level: Level) =>
    kept.flatMap(({ findings }) => findings).filter((each) => each.level === level).length;
  return { sections: kept, totals: { ok: count('ok'), warning: count('warning'), failed: count('failed') } };
}

/** Maximum characters shown of a text. An event or an annotation can have a million. */
const MAX_LENGTH = 2_000;

const truncated = (finding: Finding): Finding => ({
  ...finding,
  says: truncate(finding.says, MAX_LENGTH),
  ...(finding.todo !== undefined && { todo: truncate(finding.todo, MAX_LENGTH) }),
});

function sectionsOf(namespace: NamespaceSurvey, survey: Survey): Section[] {
  const { name } = namespace;
  const found = seenOr(namespace.gatewaySyncs, []);
  const wanted = found.filter(({ metadata }) => !namespace.asked || metadata.name === namespace.asked);
  return [
    section(`Namespace ${name}`, () => checkNamespace(namespace, survey)),
    ...wanted.map((each) =>
      section(`GatewaySync ${name}/${each.metadata.name}`, () => checkGatewaySync(each, namespace, survey)),
    ),
    ...podSections(namespace, survey),
  ];
}

/** Maximum healthy gateways with a section each; more share one line. */
const SHOWN = 3;

function podSections(namespace: NamespaceSurvey, survey: Survey): Section[] {
  const { name } = namespace;
  const sections = gatewayPodsOf(namespace).map((pod) =>
    section(`Pod ${name}/${pod.metadata.name}`, () => checkPod(pod, namespace, survey)),
  );
  const isFine = ({ findings }: Section) => findings.every(({ level }) => level === 'ok');
  const fine = sections.filter(isFine);
  if (fine.length <= SHOWN) return sections;
  const says = `${fine.length} gateways have their sidecar, are ready, and report no problems`;
  return [...sections.filter((each) => !isFine(each)), section(`Pods ${name}`, () => ok('pods/fine', says))];
}
