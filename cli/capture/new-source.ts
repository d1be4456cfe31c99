import { basename } from 'node:path/posix';
import { hasAgentName, isFilePath, isTooLong, relativePath } from '../../shared/domain/files/relative-path.ts';
import { type RenderedMapping, sourceBelow } from '../../shared/domain/files/render-mappings.ts';
import type { CommitPlan } from './plan-commit.ts';
import type { RefusalCode } from './refusals.ts';

export type NewSource = { kind: 'source'; source: string } | { kind: 'refused'; code: RefusalCode };

/**
 * Returns the path in the repository at which a mapping takes a file: the only mapping of its directory, or the last one
 * that names the gateway, so that other gateways don't get the file. `to` is the number of a mapping, or its source.
 */
export function newSource(path: string, plan: CommitPlan, to: string | undefined): NewSource {
  const able = plan.mappings.flatMap((mapping, index) => {
    const source = sourceBelow(mapping, path);
    const isAble = source !== undefined && isDirectory(mapping, plan) && isChosen(mapping, index, to);
    return isAble ? [{ source, isNamed: mapping.namedSource !== undefined }] : [];
  });
  const found = able.length === 1 ? able[0]?.source : able.findLast(({ isNamed }) => isNamed)?.source;
  if (found === undefined) return { kind: 'refused', code: able.length === 0 ? 'noMapping' : 'ambiguous' };
  // Git takes a directory with this file for a repository, whose configuration can name programs.
  if (!isSafe(found) || basename(found) === 'HEAD') return { kind: 'refused', code: 'name' };
  return plan.isExcluded(found) ? { kind: 'refused', code: 'excluded' } : { kind: 'source', source: found };
}

/** Checks a path from an agent. */
export function isSafe(path: string): boolean {
  const normal = relativePath(path);
  const isNormal = normal.kind === 'path' && normal.path === path && path.isWellFormed();
  return isNormal && isFilePath(path) && !hasAgentName(path) && !isTooLong(path);
}

/** A single file takes no others. An optional directory can be missing. */
const isDirectory = ({ source, type }: RenderedMapping, { entries }: CommitPlan): boolean =>
  type !== 'file' && !entries.has(source);

const isChosen = ({ source, namedSource }: RenderedMapping, index: number, to: string | undefined): boolean =>
  to === undefined || to === String(index) || to === source || to === namedSource;
