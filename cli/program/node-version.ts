import { isAtLeast } from '../../shared/domain/git/version.ts';
import manifest from '../package.json' with { type: 'json' };

/** Returns an error if the version of Node is too old, otherwise undefined. */
export function nodeProblem(version: string): string | undefined {
  const oldest = manifest.engines.node.replace('>=', '');
  if (isAtLeast(version, `${oldest}.0`)) return undefined;
  return `kubectl stoker requires Node ${oldest} or newer, not ${version}: install a newer version, or use the binary of the release, which does not require Node`;
}
