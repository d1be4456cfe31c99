import { cp } from 'node:fs/promises';
import type { GitRepository } from '../../testbed/git-repository.ts';
import type { GitServer } from '../../testbed/git-server.ts';

interface Counts {
  repositories: number;
  /** Names of the git server, each with its own host limits. */
  hosts: number;
}

/** Creates repositories with one file and two tags. They are copies of one, because git takes longer to create each. */
export async function createRepositories(server: GitServer, { repositories, hosts }: Counts): Promise<GitRepository[]> {
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
