import { createHash } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { API_VERSION, SYNC_RELEASE } from '../../../shared/api/group.ts';
import { AGENT_CONTAINER, AGENT_LABEL, POD_ANNOTATIONS, RELEASE_LABELS } from '../../../shared/api/names.ts';
import type { SyncRelease } from '../../../shared/api/sync-release.ts';
import { releaseName } from '../../../shared/domain/rollout/release-name.ts';
import { corePath, syncReleasePath } from '../../../shared/io/kubernetes/resource-path.ts';
import { gatewayPodSpec, readyStatus } from '../../testbed/gateway-pod-spec.ts';
import type { GitRepository } from '../../testbed/git-repository.ts';
import type { GitServer } from '../../testbed/git-server.ts';
import { step } from '../../testbed/step.ts';
import { createResource, inParallel, NAMESPACE, sync, type World } from '../support/world.ts';

/** The size of a benchmark; `interval` is the time between two polls in seconds. */
export interface Size {
  resources: number;
  repositories: number;
  /** Names of the git server, each with its own host limits. */
  hosts: number;
  pods: number;
  /** SyncReleases of each resource, which then has spec.rollout. */
  releases: number;
  interval: number;
}

/** Creates repositories, GatewaySyncs that follow them, and pods; returns the repositories. */
export async function populate(world: World, size: Size): Promise<GitRepository[]> {
  const { repositories, resources, pods, releases, interval } = size;
  const made = await step(`Creating ${repositories} repositories`, () => createRepositories(world.server, size));
  const spec = { polling: { interval: `${interval}s` }, ...(releases > 0 && { rollout: {} }) };
  await step(`Creating ${resources} resources, ${resources * releases} releases, and ${pods} pods`, async () => {
    await inParallel(resources, (index) =>
      createResource(world, `resource-${index}`, made[index % made.length]?.url ?? '', spec),
    );
    await inParallel(resources * releases, (index) =>
      createRelease(world, `resource-${index % resources}`, 1 + Math.floor(index / resources)),
    );
    await inParallel(pods, (index) => createPod(world, `pod-${index}`, `resource-${index % resources}`));
  });
  return made;
}

/** Creates repositories with one file and two tags. They are copies of one, because git takes longer to create each. */
async function createRepositories(server: GitServer, { repositories, hosts }: Size): Promise<GitRepository[]> {
  const first = await server.createRepository('repository-0');
  await first.commit({ files: { 'files/a': '1' } });
  await first.tag('v1');
  await first.tag('v2');
  const made: GitRepository[] = [];
  for (let index = 0; index < repositories; index += 1) {
    const repository = index === 0 ? first : await server.createRepository(`repository-${index}`);
    if (index > 0) await cp(first.path, repository.path, { recursive: true });
    made.push({ ...repository, url: repository.url.replace('127.0.0.1', `127.0.0.${1 + (index % hosts)}`) });
  }
  return made;
}

/** About as many variables as in a real container, because the controller's memory depends on the size of pods. */
const env = Array.from({ length: 20 }, (_, index) => ({
  name: `SETTING_${index}`,
  value: `a value of setting ${index}`,
}));

/** Creates a complete release. */
async function createRelease({ client }: World, crName: string, number: number): Promise<void> {
  const hash = createHash('sha1').update(`${crName} ${number}`).digest('hex');
  const release = {
    apiVersion: API_VERSION,
    kind: SYNC_RELEASE.kind,
    metadata: {
      name: releaseName(crName, number),
      labels: { [RELEASE_LABELS.crName]: crName, [RELEASE_LABELS.result]: 'Complete' },
    },
    spec: { number, sources: [{ name: 'main', repo: 'https://git.example/app.git', ref: 'main', commit: hash }], sync },
  };
  const { metadata } = await client.create<SyncRelease>(syncReleasePath(NAMESPACE), release);
  const status = { phase: 'Complete', completedAt: metadata.creationTimestamp };
  await client.mergePatch(`${syncReleasePath(NAMESPACE, metadata.name)}/status`, { status });
}

/** Creates a ready pod with a sidecar that follows a GatewaySync. No agent runs. */
async function createPod({ client }: World, name: string, resource: string): Promise<void> {
  await client.create(corePath('pods', NAMESPACE), {
    metadata: {
      name,
      labels: { [AGENT_LABEL]: 'true' },
      annotations: { [POD_ANNOTATIONS.inject]: 'true', [POD_ANNOTATIONS.crName]: resource },
    },
    spec: {
      ...gatewayPodSpec,
      initContainers: [{ name: AGENT_CONTAINER, image: 'agent:1', env, restartPolicy: 'Always' }],
      containers: gatewayPodSpec.containers.map((container) => ({ ...container, env })),
    },
  });
  await client.mergePatch(`${corePath('pods', NAMESPACE, name)}/status`, { status: readyStatus });
}
