import { gatewayFor } from './hooks.ts';
import type { Container } from './manifest.ts';
import { cleaned, placeOf } from './pod-paths.ts';
import { type Found, Notes, nameFor, parseOctal, readMode, readTarget } from './source.ts';

/** The repository with the source of ConfigMaps, specified by the user. */
export interface NamedRepository {
  repo: string;
  ref: string | undefined;
  /** Directory with the files. */
  directory: string;
}

/** Checks whether a container is kiwigrid's k8s-sidecar, by its image. */
export const isConfigMapSidecar = ({ image = '' }: Container): boolean => /(^|\/)k8s-sidecar(?=[:@]|$)/.test(image);

/**
 * Reads a container of k8s-sidecar (https://github.com/kiwigrid/k8s-sidecar). It copies ConfigMaps, and its settings
 * don't contain their source, so the user has to specify the repository.
 */
export function readConfigMapSidecar(container: Container, named: NamedRepository | undefined): Found {
  const title = `container ${container.name}`;
  const stays = (why: string): Found => ({ kind: 'stays', title, why });
  const variable = (name: string) => (container.env ?? []).find((each) => each.name === name)?.value ?? '';
  const resource = variable('RESOURCE') || 'configmap';
  if (resource !== 'configmap') return stays('it copies Secrets, which do not belong in a repository');
  const label = `${variable('LABEL')}${variable('LABEL_VALUE') ? `=${variable('LABEL_VALUE')}` : ''}`;
  const namespaces = variable('NAMESPACE') ? ` of the namespaces ${variable('NAMESPACE')}` : '';
  const what = `ConfigMaps with the label ${label}${namespaces}`;
  if (!named)
    return stays(
      `it copies ${what} of unknown origin. If they are generated from files in git, specify these files with --repo URL --ref REF --path DIRECTORY. If charts or operators generate them, keep this container`,
    );
  const notes = new Notes();
  const target = readTarget(named.repo, named.ref ?? 'HEAD', notes);
  if (target.kind !== 'target') return { title, ...target };
  const directory = variable('FOLDER');
  const place = directory ? placeOf(container, directory) : undefined;
  if (!place) return stays(`no volume is mounted at its FOLDER ${directory}`);
  notes.todo(
    `it copied ${what}: compare them with the files in ${cleaned(named.directory) || 'the repository'}, because only these are delivered now`,
  );
  notes.differs(
    `a ConfigMap could specify a different directory in the annotation ${variable('FOLDER_ANNOTATION') || 'k8s-sidecar-target-directory'}, and keys with the suffix .url were downloaded: add mappings for such files`,
  );
  if (variable('SCRIPT'))
    notes.todo(`SCRIPT ${variable('SCRIPT')} has no counterpart: the agent does not run programs`);
  const permissions = variable('DEFAULT_FILE_MODE');
  const mode = permissions ? readMode(parseOctal(permissions), `DEFAULT_FILE_MODE ${permissions}`, notes) : undefined;
  const url = variable('REQ_URL');
  const gateway = url ? gatewayFor({ url, method: variable('REQ_METHOD') || 'GET' }, notes) : undefined;
  const secrets = ['REQ_USERNAME', 'REQ_PASSWORD'].filter((name) => container.env?.some((each) => each.name === name));
  if (gateway && secrets.length > 0)
    notes.todo(
      `${secrets.join(' and ')}: store the value of the header Authorization in a Secret, and specify it in headersFrom of spec.gateway.reload.requests`,
    );
  const others = (container.env ?? []).map(({ name }) => name).filter((name) => !READ.has(name));
  if (others.length > 0) notes.dropped(`variables of the removed container: ${others.join(', ')}`);
  return {
    kind: 'source',
    title,
    name: nameFor(target.repo),
    git: { repo: target.repo, ref: target.ref },
    ...(gateway && { gateway }),
    groupWrite: false,
    ...(mode && { mode }),
    directory: cleaned(named.directory) || '.',
    place,
    isOneTime: variable('METHOD') === 'LIST',
    containers: [container.name],
    notes,
  };
}

const READ = new Set([
  ...['RESOURCE', 'LABEL', 'LABEL_VALUE', 'NAMESPACE', 'FOLDER', 'FOLDER_ANNOTATION', 'SCRIPT', 'METHOD'],
  ...['DEFAULT_FILE_MODE', 'REQ_URL', 'REQ_METHOD', 'REQ_USERNAME', 'REQ_PASSWORD'],
]);
