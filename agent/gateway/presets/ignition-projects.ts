import { basename, dirname } from 'node:path/posix';
import { directoriesOf } from '../../plan/directories.ts';
import type { DeliveredPaths } from './preset.ts';

/** Name of the directory of all projects. */
const PROJECTS = 'projects';
/** The project of a volume that is the directory of one project, whose name the agent doesn't know. */
export const UNNAMED = '.';

/**
 * Returns the paths of the projects in delivered paths: directories with a `project.json` in `projects`, or else in the
 * volume itself.
 */
export function projectsIn(paths: Iterable<string>): string[] {
  const directories: string[] = [];
  for (const path of paths) if (basename(path) === 'project.json') directories.push(dirname(path));
  const inProjects = directories.filter((directory) => basename(dirname(directory)) === PROJECTS);
  // A volume can be the directory of the projects. Resources have files of this name as well.
  if (inProjects.length === 0) return directories.filter((directory) => !directory.includes('/'));
  const levels = inProjects.map((directory) => directory.split('/').length);
  const least = levels.reduce((one, other) => Math.min(one, other));
  return inProjects.filter((_, index) => levels[index] === least);
}

/**
 * Returns the names of the projects that changed files can belong to. It rather names one too many: in an unusual
 * directory, each name after `projects` in a path could be that of a project.
 */
export function projectsOfChanges({ delivered, changed }: DeliveredPaths): Set<string> {
  const known = new Set([...projectsIn(delivered), ...projectsIn(changed)]);
  const above = new Map<string, string[]>();
  for (const project of known)
    for (const directory of directoriesOf(project)) above.set(directory, [...(above.get(directory) ?? []), project]);
  const names = new Set<string>();
  for (const path of changed) {
    const parts = path.split('/');
    for (const [index, part] of parts.entries()) if (parts[index - 1] === PROJECTS) names.add(part);
    if (known.has(UNNAMED)) names.add(UNNAMED);
    for (const place of [...directoriesOf(path), path]) if (known.has(place)) names.add(basename(place));
    for (const project of above.get(path) ?? []) names.add(basename(project));
  }
  return names;
}
