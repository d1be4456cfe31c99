import { API_VERSION, GATEWAY_SYNC, GROUP, SYNC_RELEASE, SYNC_REPORT, VERSION } from '../../shared/api/group.ts';
import { type Findings, failed, ok, seenOr, unread, unseen } from './finding.ts';
import type { CustomResourceDefinition } from './objects.ts';
import type { ClusterSurvey } from './survey.ts';

/** Minimum minor version of Kubernetes 1. */
const MIN_MINOR = 30;
const UPGRADING = 'how-to/upgrading.md';

/** Checks the API server and the CRDs, which all other checks require. */
export function checkCluster(survey: ClusterSurvey): Findings {
  return [checkServer(survey), checkGroup(survey)];
}

function checkServer({ server }: ClusterSurvey): Findings {
  if (server.kind === 'hidden') return unseen('cluster/version', 'the version of the API server', server);
  const { gitVersion } = server.value;
  const [, major, minor] = /^v?(\d+)\.(\d+)/.exec(gitVersion) ?? [];
  if (Number(major) > 1 || Number(minor) >= MIN_MINOR)
    return ok('cluster/version', `the API server is reachable: Kubernetes ${gitVersion}`);
  return failed('cluster/version', `Kubernetes ${gitVersion} is too old for the operator`, {
    todo: `upgrade the cluster to 1.${MIN_MINOR} or newer`,
    page: 'how-to/installation.md',
  });
}

function checkGroup({ groupVersions, resources, crds }: ClusterSurvey): Findings {
  const versions = seenOr(groupVersions, []);
  if (groupVersions.kind === 'hidden') return unseen('crds/served', `the API group ${GROUP}`, groupVersions);
  if (versions.length === 0)
    return failed('crds/installed', `the CRDs of the operator are not installed: the API group ${GROUP} is missing`, {
      todo: 'install the chart with crds.install',
      page: 'how-to/installation.md',
    });
  if (!versions.includes(VERSION))
    return failed('crds/served', `the CRDs serve ${versions.join(', ')}, but this plugin requires ${VERSION}`, {
      todo: 'use the plugin of the installed release',
      page: UPGRADING,
    });
  const kinds = [GATEWAY_SYNC, SYNC_RELEASE, SYNC_REPORT];
  const missing = kinds.filter(({ plural }) => !seenOr(resources, [plural]).includes(plural));
  if (missing.length > 0)
    return failed(
      'crds/installed',
      `the CRD ${missing.map(({ plural }) => `${plural}.${GROUP}`).join(', ')} is missing`,
      { todo: 'reinstall the CRDs of the chart', page: UPGRADING },
    );
  return [
    ok('crds/installed', `the CRDs serve ${API_VERSION}`),
    unread('crds/served', `the resources of ${API_VERSION}`, resources),
    unseen('crds/established', 'CustomResourceDefinitions', crds),
    seenOr(crds, []).flatMap(checkEstablished),
  ];
}

function checkEstablished({ metadata, status }: CustomResourceDefinition): Findings {
  const established = status?.conditions?.find(({ type }) => type === 'Established');
  const conflict = status?.conditions?.find(({ type, status: value }) => type === 'NamesAccepted' && value === 'False');
  if (established?.status !== 'True' || conflict)
    return failed(
      'crds/established',
      `the CRD ${metadata.name} is not established: ${conflict?.message ?? 'unknown cause'}`,
      { todo: 'check its conditions: another CRD may use its names', page: UPGRADING },
    );
  return [];
}
