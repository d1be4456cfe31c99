import path from 'node:path/posix';
import { isDeepStrictEqual } from 'node:util';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { POD_ANNOTATIONS } from '../../shared/api/names.ts';
import { isAgentPath } from '../../shared/domain/files/relative-path.ts';
import { isCommitHash } from '../../shared/domain/git/check-ref-name.ts';
import { dataMountOf } from '../../shared/domain/kubernetes/data-mount.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { isConfigMapSidecar, type NamedRepository, readConfigMapSidecar } from './config-map-sidecar.ts';
import { findForeignLeaks } from './find-passwords.ts';
import { readGitRepo } from './git-repo-volume.ts';
import { readGitSync } from './git-sync.ts';
import { isGitSync } from './git-sync-options.ts';
import { keepLink, type Mapping } from './keep-link.ts';
import type { Container, Pod, PodSpec } from './manifest.ts';
import { cleaned, isInside } from './pod-paths.ts';
import { type Found, Notes, type Source, type Spec } from './source.ts';

/** A converted pod. */
export interface MovedPod {
  kind: 'moved';
  /** Suggested name of its GatewaySync. */
  name: string;
  spec: Spec;
  /** Returns the pod for a GatewaySync with this name. */
  podFor(name: string): Pod;
  notes: string[];
  /** Unchanged parts with the reason. */
  stays: string[];
}

export type PodResult = MovedPod | { kind: 'refused'; why: string } | { kind: 'unmoved'; stays: string[] };

/** Converts the delivery of files in a pod: one repository and one volume, because a pod has one sidecar. */
export function migratePod(pod: Pod, named: NamedRepository | undefined): PodResult {
  const found = findAll(pod.spec, named);
  const refused = [...found, ...findForeignLeaks(pod, found)].find((each) => each.kind === 'refused');
  if (refused) return { kind: 'refused', why: `${refused.title}: ${refused.why}` };
  const stays = found.flatMap((each) => (each.kind === 'stays' ? [`${each.title} is unchanged: ${each.why}`] : []));
  const sources = found.filter((each) => each.kind === 'source');
  const chosen = sources.find(({ isOneTime }) => !isOneTime) ?? sources[0];
  if (!chosen) return { kind: 'unmoved', stays };
  const same = sources.filter((each) => each !== chosen && isSame(each, chosen));
  const others = sources.filter((each) => each !== chosen && !same.includes(each));
  stays.push(...others.map((each) => `${each.title} is unchanged: the sidecar supports one repository and one volume`));
  const gone = new Set([chosen, ...same].flatMap(({ containers }) => containers));
  const next = rebuild(pod, chosen, gone);
  const fit = fitInto(next.spec, chosen);
  if (fit.kind === 'none') return { kind: 'unmoved', stays: [...stays, `${chosen.title} is unchanged: ${fit.why}`] };
  const notes = new Notes();
  for (const { title } of same)
    notes.dropped(`${title}: it delivered the same files, and the sidecar delivers them before the containers start`);
  notePaths(chosen, next.spec, notes);
  const { mapping, stateDirectory } = keepLink(fit.mapping, fit.root, { source: chosen, spec: next.spec, notes });
  notes.lines.push(...chosen.notes.lines);
  noteTime(chosen, same, notes);
  notePod({ pod, chosen, root: fit.container, next }, notes);
  const podFor = (name: string): Pod => annotate(next, { name, volume: chosen.place.volume, stateDirectory });
  return {
    kind: 'moved',
    name: chosen.name,
    spec: specFor(chosen, mapping, fit.root),
    podFor,
    notes: notes.lines,
    stays,
  };
}

type Fit = { kind: 'fit'; mapping: Mapping; container: Container; root: string } | { kind: 'none'; why: string };

/** Finds the mapping that keeps the paths of the files for all other containers. */
function fitInto({ containers }: PodSpec, source: Source): Fit {
  const { place } = source;
  const data = dataMountOf(containers, place.volume);
  if (!data) return { kind: 'none', why: `no other container mounts its volume ${place.volume}` };
  if (data.kind === 'none') return data;
  const root = cleaned(data.mount.subPath ?? '');
  const mapping = mappingFor(source, root);
  const blind = blindContainers(source, root, containers);
  if (!mapping || blind.length > 0) {
    const who = blind.length > 0 ? `container ${blind.join(', ')}` : 'it';
    const why = `the sidecar can write only to the part of volume ${place.volume} that container ${data.container.name} mounts, and ${who} needs files outside of it: mount the whole volume`;
    return { kind: 'none', why };
  }
  const wrong = Object.values(mapping).find((each) => each.length > BOUNDS.text || UNUSUAL.test(each));
  if (wrong !== undefined || isAgentPath(mapping.destination))
    return {
      kind: 'none',
      why: 'its path is not valid in a mapping: it is too long, contains braces or other special characters, or is reserved for the agent',
    };
  return { kind: 'fit', mapping, container: data.container, root };
}

/** Parts of a path that a mapping treats as a template, or rejects. */
const UNUSUAL = /\{\{|[\p{Cc}\\]|(^|\/)\.\.(\/|$)/u;

function findAll(spec: PodSpec, named: NamedRepository | undefined): Found[] {
  const containers = [...(spec.initContainers ?? []), ...spec.containers];
  return [
    ...containers.filter(isGitSync).map((container) => readGitSync(container, spec)),
    ...(spec.volumes ?? []).flatMap((volume) => readGitRepo(volume) ?? []),
    ...containers.filter(isConfigMapSidecar).map((container) => readConfigMapSidecar(container, named)),
  ];
}

const isSame = (one: Source, other: Source): boolean =>
  one.git.repo === other.git.repo &&
  one.git.ref === other.git.ref &&
  one.directory === other.directory &&
  isDeepStrictEqual(one.place, other.place);

/** Maps a directory of the repository to the part of the volume that the sidecar mounts. */
function mappingFor({ place, directory }: Source, root: string): Mapping | undefined {
  if (isInside(root, place.path))
    return { source: directory, destination: path.relative(`/${root}`, `/${place.path}`) || '.' };
  // The application mounts a part of the delivered files.
  if (!isInside(place.path, root)) return undefined;
  return {
    source: cleaned(path.join(directory, path.relative(`/${place.path}`, `/${root}`))) || '.',
    destination: '.',
  };
}

/** Returns containers that mount files outside the sidecar's part of the volume. */
function blindContainers({ place }: Source, root: string, containers: readonly Container[]): string[] {
  if (isInside(root, place.path)) return [];
  const isBlind = ({ name, subPath = '' }: { name: string; subPath?: string | undefined }) =>
    name === place.volume &&
    !isInside(root, subPath) &&
    (isInside(place.path, subPath) || isInside(subPath, place.path));
  return containers.filter(({ volumeMounts }) => volumeMounts?.some(isBlind)).map(({ name }) => name);
}

function specFor(source: Source, mapping: Mapping, root: string): Spec {
  const { git, polling, gateway, groupWrite, mode, keepsLinks } = source;
  // In a part of the repository, links can lead out of the volume, where the agent refuses to keep them.
  const links = keepsLinks && mapping.source === '.' ? ('keep' as const) : undefined;
  const touchFile = gateway?.reload?.touchFile;
  const reload = { ...gateway?.reload, ...(touchFile && { touchFile: path.relative(`/${root}`, `/${touchFile}`) }) };
  return {
    git,
    ...(polling && { polling }),
    sync: {
      ...(groupWrite && { defaults: { groupWrite } }),
      profiles: { default: { mappings: [withoutUndefined({ ...mapping, links, mode })] } },
    },
    ...(gateway && { gateway: { ...gateway, reload } }),
  };
}

/** Removes containers, and volumes that are unused without them. */
function rebuild(pod: Pod, { place }: Source, gone: ReadonlySet<string>): Pod {
  const stay = ({ name }: Container) => !gone.has(name);
  const spec = { ...pod.spec, containers: pod.spec.containers.filter(stay) };
  const init = pod.spec.initContainers?.filter(stay);
  if (init?.length) spec.initContainers = init;
  else delete spec.initContainers;
  const before = mountedBy([...(pod.spec.initContainers ?? []), ...pod.spec.containers]);
  const after = mountedBy([...(spec.initContainers ?? []), ...spec.containers]);
  const volumes = (pod.spec.volumes ?? [])
    .filter(({ name }) => after.has(name) || !before.has(name))
    .map((volume) => (volume.name === place.volume && volume.gitRepo ? { name: volume.name, emptyDir: {} } : volume));
  if (volumes.length > 0) spec.volumes = volumes;
  else delete spec.volumes;
  return { ...pod, spec };
}

const mountedBy = (containers: readonly Container[]): Set<string> =>
  new Set(containers.flatMap(({ volumeMounts }) => (volumeMounts ?? []).map(({ name }) => name)));

interface Annotated {
  name: string;
  volume: string;
  stateDirectory: string | undefined;
}

function annotate(pod: Pod, { name, volume, stateDirectory }: Annotated): Pod {
  const annotations = {
    ...pod.metadata?.annotations,
    [POD_ANNOTATIONS.inject]: 'true',
    [POD_ANNOTATIONS.crName]: name,
    [POD_ANNOTATIONS.dataVolume]: volume,
    ...(stateDirectory !== undefined && { [POD_ANNOTATIONS.stateDirectory]: stateDirectory }),
  };
  const { apiVersion, kind, metadata, ...rest } = pod;
  return { ...withoutUndefined({ apiVersion, kind }), metadata: { ...metadata, annotations }, ...rest };
}

/** Notes the paths of the files in the applications, which don't change. */
function notePaths({ place }: Source, { containers }: PodSpec, notes: Notes): void {
  const seen = containers.flatMap(({ name, volumeMounts }) =>
    (volumeMounts ?? []).flatMap(({ name: volume, mountPath, subPath = '', subPathExpr }) => {
      if (volume !== place.volume || subPathExpr) return [];
      if (isInside(place.path, subPath)) return [`container ${name} at ${mountPath}`];
      return isInside(subPath, place.path)
        ? [`container ${name} at ${path.join(mountPath, path.relative(`/${subPath}`, `/${place.path}`))}`]
        : [];
    }),
  );
  notes.same(`the files keep their paths: ${seen.join(', ')}`);
}

function noteTime({ isOneTime, git, title }: Source, same: readonly Source[], notes: Notes): void {
  if (!isOneTime || isCommitHash(git.ref ?? '') || same.some((each) => !each.isOneTime)) return;
  notes.differs(
    `${title} delivered the files once, but the operator keeps following ${git.ref}: to pin one state, set spec.git.ref to a full commit hash`,
  );
}

interface Change {
  pod: Pod;
  chosen: Source;
  /** The sidecar runs as the user of this container. */
  root: Container;
  next: Pod;
}

function notePod({ pod, chosen, root, next }: Change, notes: Notes): void {
  const { volume } = chosen.place;
  const user = root.securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser;
  if (user === 0)
    notes.todo(
      `container ${root.name} runs as user 0, which the sidecar is not allowed to by default: set securityContext.runAsUser to a different user, or the chart value agent.allowRoot`,
    );
  const early = (next.spec.initContainers ?? [])
    .filter((each) => mountedBy([each]).has(volume))
    .map(({ name }) => name);
  if (early.length > 0)
    notes.todo(
      `init container ${early.join(', ')} mounts volume ${volume}: init containers of the pod run before the first sync, so the files are not there yet`,
    );
  const left = [...(next.spec.initContainers ?? []), ...next.spec.containers].filter(
    (each) => isGitSync(each) && mountedBy([each]).has(volume),
  );
  if (left.length > 0)
    notes.todo(
      `container ${left.map(({ name }) => name).join(', ')} is unchanged and also writes to volume ${volume}: remove it if it delivers the same files`,
    );
  const kept = (pod.spec.volumes ?? []).find(({ name }) => name === volume);
  if (chosen.containers.length > 0 && !(kept && ('emptyDir' in kept || 'ephemeral' in kept)))
    notes.todo(
      `volume ${volume} is persistent: remove the link ${chosen.place.path} and the worktrees of git-sync once, because the agent does not replace a link of another program`,
    );
  if (kept && 'persistentVolumeClaim' in kept)
    notes.todo(
      `only one agent at a time delivers to volume ${volume}, and other pods wait: if pods share the claim, for example in a rolling update, set the strategy Recreate, or give each pod a separate claim`,
    );
  const volumes = new Set((next.spec.volumes ?? []).map(({ name }) => name));
  const unused = (pod.spec.volumes ?? []).map(({ name }) => name).filter((name) => !volumes.has(name));
  if (unused.length > 0) notes.dropped(`unused volumes: ${unused.join(', ')}`);
}
