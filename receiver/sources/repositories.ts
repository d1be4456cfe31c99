import { fieldOf, type JsonObject } from './json-object.ts';
import type { NamedRepository } from './recorded-repository.ts';

/** Finds the repository of a delivery; undefined if the payload names none. */
export type NameRepository = (body: JsonObject) => NamedRepository;

/** GitHub, Gitea, Forgejo, and Gogs. `url` is a page or, in most payloads, a URL of the API. */
export const repositoryOfPush: NameRepository = (body) => ({
  fullName: firstText(body, ['repository', 'full_name']),
  url:
    firstText(body, ...['clone_url', 'ssh_url', 'html_url'].map((field) => ['repository', field])) ??
    firstText(body, ['repository', 'url'])?.replace(API_PREFIX, ''),
});

/** https://docs.github.com/en/rest/repos/repos, https://docs.gitea.com/api */
const API_PREFIX = /^https?:\/\/(?:api\.[^/]+|.*\/api\/v\d+)\/repos\//i;

/** Project, group, and system hooks of GitLab; `repository` is the predecessor of `project`. */
export const repositoryOfGitLab: NameRepository = (body) => ({
  fullName: firstText(body, ['project', 'path_with_namespace']),
  url: firstText(
    body,
    ...['git_http_url', 'http_url', 'git_ssh_url', 'ssh_url', 'web_url'].map((field) => ['project', field]),
    ...['git_http_url', 'git_ssh_url', 'homepage', 'url'].map((field) => ['repository', field]),
  ),
});

/** The first part can be a host, or a group with a dot in its name. */
const HOST_AND_PATH = /^[\w-]*\.[\w.-]*(?::\d+)?\//;

/** A user in front of a host without a scheme, with a password or without. */
const USER = /^[^/[]+@/;

/** Bodies of unknown senders. A script can send a path or a URL; a name alone isn't enough. */
export const repositoryOfGeneric: NameRepository = (body) => {
  const text = firstText(body, ['repository'])?.trim().replace(USER, '');
  if (text?.includes('/')) return { fullName: text, url: HOST_AND_PATH.test(text) ? `https://${text}` : undefined };
  const project = repositoryOfGitLab(body);
  return project.fullName ? project : repositoryOfPush(body);
};

/** Cloud sends a full name, Data Center a project and a slug. */
export const repositoryOfBitbucket: NameRepository = (body) => {
  const project = firstText(body, ['repository', 'project', 'key']);
  const slug = firstText(body, ['repository', 'slug']);
  const links = fieldOf(body, 'repository', 'links', 'clone');
  const clone = Array.isArray(links) ? links.map((link) => firstText(link, ['href'])).find(Boolean) : undefined;
  return {
    fullName: firstText(body, ['repository', 'full_name']) ?? (project && slug && `${project}/${slug}`),
    url: clone ?? firstText(body, ['repository', 'links', 'html', 'href']),
  };
};

/** Azure DevOps. A URL can omit the project if its repository has the same name, so both forms are recorded. */
export const repositoryOfAzureDevOps: NameRepository = (body) => {
  const [url, name, project] = [['remoteUrl'], ['name'], ['project', 'name']].map((path) =>
    firstText(body, ['resource', 'repository', ...path]),
  );
  if (name === undefined || name !== project) return { url };
  const short = url?.replace(/\/([^/]+)\/_git\/\1\/?$/i, '/_git/$1');
  return { fullName: short?.replace(/\/_git\/([^/]+)\/?$/, '/$1/_git/$1'), url: short };
};

/** The first of several fields with text. */
function firstText(body: unknown, ...paths: string[][]): string | undefined {
  const values = paths.map((path) => fieldOf(body, ...path));
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}
