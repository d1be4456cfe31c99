import type { Volume } from './manifest.ts';
import { cleaned } from './pod-paths.ts';
import { type Found, leafOf, Notes, nameFor, readTarget } from './source.ts';

/** Reads a gitRepo volume (https://kubernetes.io/docs/concepts/storage/volumes/#gitrepo). */
export function readGitRepo({ name: volume, gitRepo }: Volume): Found | undefined {
  if (!gitRepo) return undefined;
  const title = `the gitRepo volume ${volume}`;
  const { repository, revision, directory } = gitRepo;
  const notes = new Notes();
  const target = readTarget(repository, (revision || 'HEAD').replace(/^origin\//, ''), notes);
  if (target.kind !== 'target') return { title, ...target };
  const path = cleaned(directory || leafOf(repository));
  if (path.split('/').includes('..')) return { kind: 'stays', title, why: 'its directory contains ..' };
  const { repo, ref } = target;
  notes.differs(
    'the kubelet cloned with the credentials of the node: if the repository is private, specify a Secret in spec.git.auth',
  );
  notes.differs(
    'a submodule was an empty directory: exclude it or set spec.git.submodules, because the agent rejects it otherwise',
  );
  return {
    kind: 'source',
    title,
    name: nameFor(repo),
    git: { repo, ref },
    groupWrite: false,
    keepsLinks: true,
    directory: '.',
    place: { volume, path },
    isOneTime: true,
    containers: [],
    notes,
  };
}
