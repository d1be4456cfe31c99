import manifest from '../package.json' with { type: 'json' };

/** What is wrong with the Node that runs the plugin; undefined where it is new enough. */
export function nodeProblem(version: string): string | undefined {
  const oldest = manifest.engines.node.replace('>=', '');
  const [major = 0, minor = 0] = numbersOf(version);
  const [oldestMajor = 0, oldestMinor = 0] = numbersOf(oldest);
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return undefined;
  return `kubectl stoker requires Node ${oldest} or newer, not ${version}: install a newer version, or use the binary of the release, which does not require Node`;
}

const numbersOf = (version: string): number[] => version.split('.').map(Number);
