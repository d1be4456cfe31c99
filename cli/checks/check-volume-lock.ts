import { AGENT_CONTAINER, AGENT_DIRECTORY } from '../../shared/api/names.ts';
import { joinPath } from '../../shared/domain/files/relative-path.ts';
import { volumeOwnerIn } from '../../shared/domain/kubernetes/volume-in-use.ts';
import { shellWord } from '../../shared/domain/text/shell-quote.ts';
import { type Finding, failed } from './finding.ts';
import { DATA_PATH, type Pod, sidecarOf, variableOf } from './objects.ts';
import type { NamespaceSurvey } from './survey.ts';

/** Checks for an agent that waits for the lock of a deleted pod: a file server may keep the lock of a dead client. */
export function checkVolumeLock(pod: Pod, message: string, survey: NamespaceSurvey): Finding | undefined {
  const owner = volumeOwnerIn(message);
  const prefix = `${survey.name}/`;
  if (!owner?.pod.startsWith(prefix) || survey.pods.kind === 'hidden') return undefined;
  const { name } = pod.metadata;
  const ownerName = owner.pod.slice(prefix.length);
  // An owner with the same name is an earlier pod.
  if (ownerName !== name && survey.pods.value.some(({ metadata }) => metadata.name === ownerName)) return undefined;
  const node = owner.node === undefined ? 'its node' : `node ${owner.node}`;
  return failed('report/volume-lock', `its data volume is still locked by pod ${owner.pod}, which no longer exists`, {
    todo: `if ${node} is permanently down, remove the lock: kubectl exec -n ${survey.name} ${name} -c ${AGENT_CONTAINER} -- rm -f ${lockOf(pod)}`,
    page: 'reference/profiles/volume.md#volume-lock',
  });
}

/** Returns the path of the lock, for a shell. */
function lockOf(pod: Pod): string {
  const sidecar = sidecarOf(pod);
  const directoryOf = (variable: string) => sidecar && variableOf(sidecar, variable);
  const directory = directoryOf('STATE_DIRECTORY') ?? joinPath(directoryOf('DATA_DIRECTORY') ?? '', AGENT_DIRECTORY);
  return shellWord(`${DATA_PATH}/${directory}/agent.lock`);
}
