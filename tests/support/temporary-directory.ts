import { makeTemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';
import { cleanUp, type Scope } from './clean-up.ts';

/** Makes a directory that is removed after the test, and returns its path. */
export async function temporaryDirectory(
  t: Scope,
  prefix: string,
  options: Parameters<typeof makeTemporaryDirectory>[1] = {},
): Promise<string> {
  const { path, remove } = await makeTemporaryDirectory(prefix, options);
  cleanUp(t, remove);
  return path;
}
