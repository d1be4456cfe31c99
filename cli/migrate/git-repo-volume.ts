import type { Volume } from './manifest.ts';
import { cleaned } from './pod-paths.ts';
import { differs, type Found, nameFor, readTarget } from './source.ts';

/** Reads a gitRepo volume (https://kubernetes.io/docs/concepts/storage/volumes/#gitrepo). */
export function readGitRepo({ name: volume, gitRepo }: Volume): Found | undefined {
  if (!gitRepo) return undefined;
  const title = `the gitRepo volume ${volume}`;
  const { repository, revision, directory } = gitRepo;
  const target = readTarget(repository, (revision || 'HEAD').replace(/^origin\//, ''));
  if (target.kind !== 'target') return { title, ...target };
  const path = cleaned(directory || leafOf(repository));
  if (path.split('/').includes('..')) return { kind: 'stays', title, why: 'its directory contains ..' };
  const { repo, ref } = target;
  return {
    kind: 'source',
    title,
    name: nameFor(repo),
    git: { repo, ref },
    groupWrite: false,
    directory: '.',
    place: { volume, path },
    isOneTime: true,
    containers: [],
    notes: [
      ...target.notes,
      differs(
        'the kubelet cloned with the credentials of the node: if the repository is private, specify a Secret in spec.git.auth',
      ),
      differs(
        'a submodule was an empty directory: exclude it or set spec.git.submodules, because the agent rejects it otherwise',
      ),
    ],
  };
}

/** Returns the directory that git clone creates for a URL: its last part without .git (git-clone(1)). */
function leafOf(url: string): string {
  const path = url
    .replace(/\/+$/, '')
    .replace(/\/\.git$/, '')
    .replace(/\/+$/, '');
  return (path.split(/[/:]/).at(-1) ?? '').replace(/\.git$/, '');
}
