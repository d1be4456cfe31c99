import type { NamedRepository } from '../../shared/domain/delivered-repository.ts';
import { fieldOf, type JsonObject } from './json-object.ts';

/** Finds the repository that a delivery is about; nothing if the payload names none. */
export type NameRepository = (body: JsonObject) => NamedRepository;

/** GitHub, Gitea, Forgejo and Gogs. */
export const repositoryOfPush: NameRepository = (body) => ({
  fullName: textOf(body, ['repository', 'full_name']),
  url: textOf(body, ['repository', 'clone_url'], ['repository', 'ssh_url'], ['repository', 'html_url']),
});

/** A project or one of a group, also in a system hook; `repository` is what GitLab had before `project`. */
export const repositoryOfGitLab: NameRepository = (body) => ({
  fullName: textOf(body, ['project', 'path_with_namespace']),
  url: textOf(
    body,
    ...['git_http_url', 'http_url', 'git_ssh_url', 'ssh_url', 'web_url'].map((field) => ['project', field]),
    ...['git_http_url', 'git_ssh_url', 'homepage', 'url'].map((field) => ['repository', field]),
  ),
});

/** The cloud has a full name, the data center a project and a slug. */
export const repositoryOfBitbucket: NameRepository = (body) => {
  const [project, slug] = [textOf(body, ['repository', 'project', 'key']), textOf(body, ['repository', 'slug'])];
  const links = fieldOf(body, 'repository', 'links', 'clone');
  const clone = Array.isArray(links) ? links.map((link) => textOf(link, ['href'])).find(Boolean) : undefined;
  return {
    fullName: textOf(body, ['repository', 'full_name']) ?? (project && slug && `${project}/${slug}`),
    url: clone ?? textOf(body, ['repository', 'links', 'html', 'href']),
  };
};

/** The first of several fields that holds text. */
function textOf(body: unknown, ...paths: string[][]): string | undefined {
  const values = paths.map((path) => fieldOf(body, ...path));
  return values.find((value): value is string => typeof value === 'string' && value !== '');
}
