import type { TestContext } from 'node:test';
import { makeTemporaryFolder } from '../../scripts/testbed/temporary-folder.ts';

/** Makes a directory that is removed after the test, and returns its path. */
export async function temporaryFolder(
  t: Pick<TestContext, 'after'>,
  prefix: string,
  options: Parameters<typeof makeTemporaryFolder>[1] = {},
): Promise<string> {
  const { path, remove } = await makeTemporaryFolder(prefix, options);
  t.after(remove);
  return path;
}
