import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { TestContext } from 'node:test';
import type { GitRepository } from '../../../scripts/testbed/git-repository.ts';
import type { GitServer } from '../../../scripts/testbed/git-server.ts';
import { runCommand } from '../../../scripts/testbed/run-command.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { AGENT_LABEL, INSPECT_ANNOTATION } from '../../../shared/api/names.ts';
import { corePath, gatewaySyncPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { patchStatus } from '../../support/gateway-syncs.ts';
import { gatewayCountsOf } from '../../support/objects.ts';
import type { Program, ProgramOptions } from '../../support/program.ts';
import type { CliResult } from '../../support/run-cli.ts';
import { stokerIn } from '../../support/stoker-in.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { type GatewayPod, startSyncedPod } from '../agent/support/gateway-pod.ts';

const FILES = {
  'config/a.txt': 'one\ntwo\nthree\n',
  'config/with a space.txt': 'no newline at the end',
  'config/ünï "quoted".txt': 'x\r\ny\n',
  'config/gone.txt': 'here\n',
  'config/run.sh': '#!/bin/sh\n',
  'config/picture.bin': 'a\0b',
  'config/server.key': 'not to be shown\n',
  'config/tls.txt': 'nothing yet\n',
  'config/kept.txt': 'same\n',
  'rendered/name.txt': 'I am {{ .GatewayName }}, {{ .Vars.colour }}\n',
};

/** With drift left unchanged. */
export const spec = (fields: object = {}) => {
  const mappings = [
    { source: 'config', destination: 'etc' },
    { source: 'rendered', destination: 'rendered', template: true },
  ];
  const vars = { colour: 'a-value-of-a-template' };
  return { sync: { profiles: { default: { mappings, vars, drift: 'report', ...fields } } } };
};

export interface World {
  repository: GitRepository;
  commit: string;
  pod: GatewayPod;
  agent: Program;
  stoker: (...line: string[]) => Promise<CliResult>;
  write: (file: string, content: string | Buffer) => Promise<void>;
}

/** Labels the pod as the injector does, and lists it in the status as the controller does. */
export async function makeKnown({ client, namespace }: GatewayPod): Promise<void> {
  const name = 'gateway-0';
  await client.mergePatch(corePath('pods', namespace, name), { metadata: { labels: { [AGENT_LABEL]: 'true' } } });
  const discoveredGateways = [{ name, namespace, podName: name, syncStatus: 'Synced', profile: 'default' }];
  await patchStatus({ namespace, name: 'gw' }, { discoveredGateways, gateways: gatewayCountsOf({ total: 1 }) });
}

export async function arrange(
  t: TestContext,
  server: GitServer,
  name: string,
  options: Pick<ProgramOptions, 'nodeArgs'> = {},
): Promise<World> {
  const repository = await server.createRepository(name);
  const commit = await repository.commit({ files: FILES });
  const { pod, agent } = await startSyncedPod(t, { repo: repository.url, commit, spec: spec(), ...options });
  await makeKnown(pod);
  const stoker = await stokerIn(pod.namespace);
  return {
    repository,
    commit,
    pod,
    agent,
    stoker: (...line) => stoker(line),
    write: (file, content) => writeFile(path.join(pod.data, file), content),
  };
}

/** A clone with a work tree in which a patch was applied. */
export async function applyPatch(t: TestContext, { repository }: World, patch: string): Promise<string> {
  const directory = await temporaryDirectory(t, 'clone-');
  const clone = path.join(directory, 'clone');
  await runCommand('git', ['clone', '--quiet', repository.path, clone]);
  const file = path.join(directory, 'a.patch');
  await writeFile(file, patch);
  await runCommand('git', ['-C', clone, 'apply', '--whitespace=nowarn', file]);
  return clone;
}

export const annotationOf = async ({ client, namespace }: GatewayPod) =>
  (await client.getAs<GatewaySync>(gatewaySyncPath(namespace, 'gw'))).metadata.annotations?.[INSPECT_ANNOTATION];
