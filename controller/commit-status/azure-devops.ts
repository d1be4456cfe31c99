/** A repository of Azure DevOps: its organization or collection as a path, its project, and its name. */
interface AzureRepository {
  root: string[];
  project: [project: string, name: string];
}

const CLOUD_SSH = /^(?:ssh\.dev\.azure\.com|vs-ssh\.visualstudio\.com)$/;

/** Whether a host is the cloud service. */
export const isAzureDevOps = (host: string): boolean =>
  CLOUD_SSH.test(host) || host === 'dev.azure.com' || host.endsWith('.visualstudio.com');

/** The host of the API for the host of a clone URL. */
export const azureApiHost = (host: string): string => (CLOUD_SSH.test(host) ? 'dev.azure.com' : host);

/**
 * Reads the path of a clone URL, as unescaped segments; undefined for other paths. The URL of the cloud service has no
 * project if the repository has the name of its project.
 * https://learn.microsoft.com/azure/devops/repos/git/clone
 */
export function azureRepositoryOf(host: string, path: readonly string[]): AzureRepository | undefined {
  if (CLOUD_SSH.test(host)) {
    const [version, organization, project, name, ...rest] = path;
    const isComplete = version === 'v3' && organization && project && name && rest.length === 0;
    return isComplete ? { root: [organization], project: [project, name] } : undefined;
  }
  const [marker, name] = path.slice(-2);
  if (marker !== '_git' || name === undefined) return undefined;
  const before = path.slice(0, -2);
  const length = rootLength(host, before);
  const [project = name, ...rest] = before.slice(length);
  return length < 0 || rest.length > 0 ? undefined : { root: before.slice(0, length), project: [project, name] };
}

/** Segments before the project: the organization, or `DefaultCollection`; on a server, all but the last one. */
function rootLength(host: string, before: readonly string[]): number {
  if (host === 'dev.azure.com') return before.length === 0 ? -1 : 1;
  if (!host.endsWith('.visualstudio.com')) return before.length - 1;
  return before[0]?.toLowerCase() === 'defaultcollection' ? 1 : 0;
}
