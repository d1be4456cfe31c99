import manifest from '../package.json' with { type: 'json' };

/** Returns an error if the version of Node is too old, otherwise undefined. */
export function nodeProblem(version: string): string | undefined {
  const oldest = manifest.engines.node.replace('>=', '');
  const [major = 0, minor = 0] = numbersOf(version);
  const [oldestMajor = 0, oldestMinor = 0] = numbersOf(oldest);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `kubectl stoker requires Node ${oldest} or newer, not ${version}: install a newer version, or use the binary of the release, which does not require Node`;
}

const numbersOf = (version: string): number[] => version.split('.').map(Number);
