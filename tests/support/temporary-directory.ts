import type { TestContext } from 'node:test';
import { makeTemporaryDirectory } from '../../scripts/testbed/temporary-directory.ts';

/** Makes a directory that is removed after the test, and returns its path. */
export async function temporaryDirectory(
  t: Pick<TestContext, 'after'>,
  prefix: string,
  options: Parameters<typeof makeTemporaryDirectory>[1] = {},
): Promise<string> {
  const { path, remove } = await makeTemporaryDirectory(prefix, options);
  t.after(remove);
  return path;
}
